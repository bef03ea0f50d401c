/** The words of mails, without those of the report in them. */
import type { Translated } from '../translated.ts';

export const mail: Translated<'mail', 'fr'> = {
  automatic: 'Ce message a été envoyé automatiquement par Curbcut sur {host}. Les réponses ne sont pas lues.',
  linkFallback: 'Si le bouton ne fonctionne pas, ouvrez cette adresse :',
  statusPage: 'Ouvrir la page de suivi',
  validUntil: 'Le lien fonctionne une seule fois, jusqu’au {date}.',
  result: {
    testedAt: 'Testée le',
    done: {
      subject: {
        one: 'Accessibilité de {site} : {n} violation',
        many: 'Accessibilité de {site} : {n} de violations',
        other: 'Accessibilité de {site} : {n} violations',
      },
      subjectNone: 'Accessibilité de {site} : aucune violation trouvée',
      heading: 'Votre résultat d’accessibilité',
      summary: {
        one: 'Le test automatisé a trouvé {n} violation sur cette page.',
        many: 'Le test automatisé a trouvé {n} de violations sur cette page.',
        other: 'Le test automatisé a trouvé {n} violations sur cette page.',
      },
      summaryNone:
        'Le test automatisé n’a trouvé aucune violation sur cette page. Les tests automatisés ne couvrent qu’une partie des exigences ; testez aussi au clavier et avec un lecteur d’écran.',
      more: {
        one: 'La page de résultat présente {n} autre cause.',
        many: 'La page de résultat présente {n} d’autres causes.',
        other: 'La page de résultat présente {n} autres causes.',
      },
      review: {
        one: 'Les tests n’ont pas pu trancher pour {n} élément. La page de résultat indique ce qu’il faut vérifier.',
        many: 'Les tests n’ont pas pu trancher pour {n} d’éléments. La page de résultat indique ce qu’il faut vérifier.',
        other: 'Les tests n’ont pas pu trancher pour {n} éléments. La page de résultat indique ce qu’il faut vérifier.',
      },
      incomplete: 'Certaines parties de la page n’ont pas pu être testées. La page de résultat indique ce qui peut manquer.',
      button: 'Ouvrir le résultat complet',
    },
    failed: {
      subject: 'L’analyse d’accessibilité de {site} a échoué',
      heading: 'L’analyse a échoué',
      todo: 'Ce que vous pouvez faire',
      steps: [
        'Ouvrez l’adresse dans une fenêtre de navigation privée. Elle doit s’afficher sans connexion à un compte.',
        'Vérifiez qu’un pare-feu ou une protection contre les robots ne bloque pas les navigateurs automatisés.',
        'Demandez ensuite une nouvelle analyse.',
      ],
    },
    canceled: {
      subject: 'L’analyse d’accessibilité de {site} a été annulée',
      heading: 'L’analyse a été annulée',
      intro:
        'L’analyse de cette page a été annulée avant la fin. Il n’y a donc pas de résultat. Vous pouvez demander une nouvelle analyse à tout moment.',
    },
    reason: 'Vous recevez ce message parce que quelqu’un a demandé une analyse sur {host} et a indiqué cette adresse.',
    unsubscribe: 'Ne plus recevoir les résultats d’analyse',
  },
  invitation: {
    subject: 'Invitation à rejoindre {organisation} sur Curbcut',
    heading: 'Vous êtes invité(e) à rejoindre {organisation}',
    intro: '{invitedBy} vous invite au tableau de bord d’accessibilité de {organisation} sur Curbcut.',
    button: 'Accepter l’invitation',
    ignore: 'Si vous n’attendiez pas cette invitation, ignorez ce message.',
  },
  accountNotice: {
    sign_in: {
      subject: 'Nouvelle connexion à votre compte Curbcut',
      heading: 'Connexion depuis un nouveau réseau',
      intro: 'Une connexion à votre compte sur {host} a eu lieu depuis un réseau que vous n’aviez pas encore utilisé.',
    },
    password: {
      subject: 'Votre mot de passe Curbcut a été modifié',
      heading: 'Votre mot de passe a été modifié',
      intro: 'Le mot de passe de votre compte sur {host} a été modifié.',
    },
    factors: {
      subject: 'Les seconds facteurs de votre compte Curbcut ont été modifiés',
      heading: 'Vos seconds facteurs ont été modifiés',
      intro: 'Un second facteur ou les codes de récupération de votre compte sur {host} ont été modifiés.',
    },
    at: 'Date et heure',
    network: 'Réseau',
    browser: 'Navigateur',
    ignore: 'Si c’était vous, vous n’avez rien à faire.',
    byAdministrator: 'L’administration du service a fait cette modification. Si vous l’avez demandée, vous n’avez rien à faire.',
    todo: 'Si ce n’était pas vous',
    steps: [
      'Ouvrez votre compte et déconnectez-vous partout.',
      'Choisissez un nouveau mot de passe que vous n’utilisez pas ailleurs.',
      'Prévenez un propriétaire de votre organisation. Le journal d’audit montre ce qui a été fait.',
    ],
    button: 'Ouvrir votre compte',
  },
  passwordReset: {
    subject: 'Définir un nouveau mot de passe pour Curbcut',
    heading: 'Définir un nouveau mot de passe',
    intro: 'Quelqu’un a demandé un lien pour définir un nouveau mot de passe pour votre compte sur {host}.',
    button: 'Définir un nouveau mot de passe',
    ignore: 'Si ce n’était pas vous, ignorez ce message. Votre mot de passe reste inchangé.',
  },
  webhookStopped: {
    subject: 'Un webhook de {organisation} est désactivé',
    heading: 'Un webhook est désactivé',
    intro: '{host} n’envoie plus rien au webhook {webhook} de {organisation}.',
    gone: 'Le point de terminaison {endpoint} a répondu qu’il n’existe plus (410).',
    failing: 'Toutes les tentatives d’envoi à {endpoint} ont échoué depuis le {date}.',
    lost: 'Ce qui se passe jusqu’à ce que vous le réactiviez n’est pas envoyé.',
    button: 'Ouvrir le webhook',
  },
};
