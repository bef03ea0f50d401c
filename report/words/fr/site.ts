/** The words of layouts, components and error pages. */
import type { Translated } from '../translated.ts';

export const site: Translated<'site', 'fr'> = {
  name: 'Français',
  skip: 'Aller au contenu principal',
  language: 'Langue',
  mainNavigation: 'Navigation principale',
  home: 'Page d’accueil de Curbcut',
  documentation: 'Documentation',
  signIn: 'Se connecter',
  dashboard: 'Tableau de bord',
  footer: 'Curbcut teste l’accessibilité des pages web avec axe-core dans un vrai navigateur.',
  copy: 'Copier',
  copied: 'Copié',
  copyFailed: 'La copie a échoué. Sélectionnez le texte et copiez-le vous-même.',
  optional: 'facultatif',
  problem: { one: 'Il y a {n} problème', many: 'Il y a {n} de problèmes', other: 'Il y a {n} problèmes' },
  previous: 'Précédent',
  next: 'Suivant',
  pages: 'Pages',
  youAreHere: 'Vous êtes ici',
  errors: {
    invalid: {
      title: 'Cette demande ne peut pas être traitée',
      text: 'Revenez en arrière, vérifiez votre saisie et envoyez-la de nouveau.',
    },
    forbidden: {
      title: 'Vous n’avez pas l’autorisation nécessaire',
      text: 'Votre compte ne dispose pas de cette autorisation. Adressez-vous à un propriétaire de votre organisation.',
    },
    blocked: {
      title: 'Ce compte est bloqué',
      text: 'Votre organisation est bloquée : elle ne peut ni consulter ni lancer d’analyses. Adressez-vous à l’exploitant de ce service.',
    },
    missing: {
      title: 'Page introuvable',
      text: 'Vérifiez l’adresse. Si vous avez suivi un lien, la page a été déplacée ou n’existe plus.',
    },
    method: { title: 'Cette page n’accepte pas cette action', text: 'Revenez en arrière et utilisez les boutons et les liens de la page.' },
    tooLarge: { title: 'Le texte est trop long', text: 'Revenez en arrière, raccourcissez votre saisie et envoyez-la de nouveau.' },
    expired: { title: 'Ce formulaire a expiré', text: 'Revenez en arrière, rechargez la page et envoyez de nouveau le formulaire.' },
    crossSite: { title: 'Ce formulaire provient d’un autre site', text: 'Ouvrez la page de ce service et envoyez son formulaire.' },
    tooMany: { title: 'Trop de demandes', text: 'Patientez un peu, puis réessayez.' },
    internal: { title: 'Une erreur s’est produite', text: 'L’erreur vient de notre côté et a été enregistrée. Réessayez plus tard.' },
    unavailable: {
      title: 'Le service est momentanément indisponible',
      text: 'Une partie du service est en panne. Réessayez dans un instant.',
    },
    unconfirmed: {
      title: 'L’opération a peut-être été effectuée',
      text: 'Une partie du service n’a pas répondu. Vérifiez si votre demande a pris effet avant de l’envoyer à nouveau.',
    },
    busy: { title: 'Le service est occupé', text: 'Trop de demandes de ce type sont en cours. Réessayez dans un instant.' },
  },
  requestId: 'Si vous signalez ce problème, indiquez la demande {id}.',
  goHome: 'Aller à la page d’accueil',
  retryIn: { one: 'Réessayez dans {n} seconde.', many: 'Réessayez dans {n} de secondes.', other: 'Réessayez dans {n} secondes.' },
};
