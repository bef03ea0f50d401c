/** What a person should look at where the tests could not decide, in every language. By topic: several rules share a text. */
import type { Locale } from '../../scan/locales.ts';
import { standardsOf } from '../rules.ts';

/** A category of axe-core's rules, or a topic of single rules that the text of their category does not fit. */
type Topic =
  | 'aria'
  | 'color'
  | 'forms'
  | 'keyboard'
  | 'language'
  | 'name-role-value'
  | 'parsing'
  | 'semantics'
  | 'sensory-and-visual-cues'
  | 'structure'
  | 'tables'
  | 'text-alternatives'
  | 'time-and-media'
  | 'link-in-text'
  | 'target-size'
  | 'orientation'
  | 'frame'
  | 'hidden'
  | 'visible-label'
  | 'same-links'
  | 'any';

const BY_RULE = new Map<string, Topic>(
  Object.entries({
    'link-in-text-block': 'link-in-text',
    'target-size': 'target-size',
    'css-orientation-lock': 'orientation',
    'frame-tested': 'frame',
    'hidden-content': 'hidden',
    'label-content-name-mismatch': 'visible-label',
    'identical-links-same-purpose': 'same-links',
  } as const),
);

const TEXTS: Readonly<Record<Locale, Readonly<Record<Topic, string>>>> = {
  en: {
    aria: 'Check with a screen reader whether role, state and value of the element are announced as it looks and behaves.',
    color:
      'Measure the contrast where the background is lightest or darkest behind the text, such as on an image or gradient. Also check hover and focus.',
    forms: 'Check whether each field has a visible label that says what to enter, and whether a screen reader announces it.',
    keyboard:
      'Operate the element with the keyboard only. Check whether it can be reached, used and left, and whether the focus is visible.',
    language: 'Check whether the declared language is the one in which the text is written.',
    'name-role-value': 'Check whether a screen reader announces a name that says what the control does.',
    parsing: 'Check whether each ID is unique where labels, descriptions or ARIA attributes refer to it.',
    semantics: 'Check whether the meaning that the markup gives the element is the one that people see.',
    'sensory-and-visual-cues': 'Check whether the content stays usable when text is enlarged to 200% and spacing is increased.',
    structure: 'Check whether the heading, list or area describes its content and is in its right place in the page.',
    tables: 'Check whether each data cell belongs to the header cells that a screen reader announces for it.',
    'text-alternatives': 'Check whether the text alternative says what the image shows or does, or is empty if the image is decorative.',
    'time-and-media':
      'Play the medium. Check whether captions or a transcript contain everything that is said, and whether it can be paused.',
    'link-in-text': 'Check whether people who do not see colours can tell the link from the text around it, also without hovering.',
    'target-size': 'Check whether the target is at least 24 by 24 CSS pixels, or far enough from its neighbours.',
    orientation: 'Turn a mobile device. Check whether the page can be used in portrait and in landscape.',
    frame: 'The content of this frame was not tested. Test the page that it contains.',
    hidden: 'Show the hidden content, for example by opening the menu or dialog, and test the page again.',
    'visible-label': 'Check whether the name that a screen reader announces contains the words of the visible label.',
    'same-links': 'Check whether links with the same name lead to the same target or serve the same purpose.',
    any: 'Check whether the element meets the rule. The tests could not decide it.',
  },
  de: {
    aria: 'Prüfen Sie mit einem Screenreader, ob Rolle, Zustand und Wert des Elements so angesagt werden, wie es aussieht und sich verhält.',
    color:
      'Messen Sie den Kontrast dort, wo der Hintergrund des Textes am hellsten oder dunkelsten ist, etwa auf einem Bild oder Verlauf. Prüfen Sie auch Hover und Fokus.',
    forms: 'Prüfen Sie, ob jedes Feld eine sichtbare Beschriftung hat, die sagt, was einzugeben ist, und ob Screenreader sie ansagen.',
    keyboard:
      'Bedienen Sie das Element nur mit der Tastatur. Prüfen Sie, ob es erreichbar, bedienbar und wieder zu verlassen ist und der Fokus sichtbar bleibt.',
    language: 'Prüfen Sie, ob der Text in der angegebenen Sprache geschrieben ist.',
    'name-role-value': 'Prüfen Sie, ob Screenreader einen Namen ansagen, der sagt, was das Bedienelement tut.',
    parsing: 'Prüfen Sie, ob jede ID eindeutig ist, auf die sich Beschriftungen, Beschreibungen oder ARIA-Attribute beziehen.',
    semantics: 'Prüfen Sie, ob die Bedeutung, die das Markup dem Element gibt, der sichtbaren entspricht.',
    'sensory-and-visual-cues': 'Prüfen Sie, ob der Inhalt bei 200 % Textgröße und größeren Abständen benutzbar bleibt.',
    structure: 'Prüfen Sie, ob Überschrift, Liste oder Bereich den Inhalt beschreibt und an der richtigen Stelle der Seite steht.',
    tables: 'Prüfen Sie, ob jede Datenzelle zu den Kopfzellen gehört, die Screenreader für sie ansagen.',
    'text-alternatives':
      'Prüfen Sie, ob die Textalternative sagt, was das Bild zeigt oder bewirkt, oder bei einem dekorativen Bild leer ist.',
    'time-and-media':
      'Spielen Sie das Medium ab. Prüfen Sie, ob Untertitel oder eine Abschrift alles Gesagte enthalten und ob es sich anhalten lässt.',
    'link-in-text': 'Prüfen Sie, ob sich der Link auch ohne Farbe und ohne Hover vom umgebenden Text unterscheidet.',
    'target-size': 'Prüfen Sie, ob die Fläche mindestens 24 mal 24 CSS-Pixel groß ist oder genug Abstand zu ihren Nachbarn hat.',
    orientation: 'Drehen Sie ein Mobilgerät. Prüfen Sie, ob sich die Seite im Hoch- und im Querformat benutzen lässt.',
    frame: 'Der Inhalt dieses Frames wurde nicht geprüft. Prüfen Sie die Seite, die er enthält.',
    hidden: 'Zeigen Sie den verborgenen Inhalt an, etwa durch Öffnen des Menüs oder Dialogs, und prüfen Sie die Seite erneut.',
    'visible-label': 'Prüfen Sie, ob der angesagte Name die Wörter der sichtbaren Beschriftung enthält.',
    'same-links': 'Prüfen Sie, ob gleich benannte Links zum selben Ziel führen oder demselben Zweck dienen.',
    any: 'Prüfen Sie, ob das Element die Regel erfüllt. Die Tests konnten es nicht entscheiden.',
  },
  fr: {
    aria: 'Vérifiez avec un lecteur d’écran que le rôle, l’état et la valeur annoncés correspondent à l’aspect et au comportement de l’élément.',
    color:
      'Mesurez le contraste là où l’arrière-plan du texte est le plus clair ou le plus foncé, par exemple sur une image ou un dégradé. Vérifiez aussi le survol et le focus.',
    forms: 'Vérifiez que chaque champ a une étiquette visible qui indique quoi saisir, et qu’un lecteur d’écran l’annonce.',
    keyboard:
      'Utilisez l’élément uniquement au clavier. Vérifiez qu’on peut l’atteindre, l’utiliser et le quitter, et que le focus est visible.',
    language: 'Vérifiez que le texte est rédigé dans la langue déclarée.',
    'name-role-value': 'Vérifiez qu’un lecteur d’écran annonce un nom qui indique la fonction du composant.',
    parsing: 'Vérifiez que chaque ID est unique lorsque des étiquettes, des descriptions ou des attributs ARIA y font référence.',
    semantics: 'Vérifiez que le sens donné à l’élément par le balisage est celui que l’on voit.',
    'sensory-and-visual-cues': 'Vérifiez que le contenu reste utilisable avec un texte agrandi à 200 % et des espacements plus grands.',
    structure: 'Vérifiez que le titre, la liste ou la zone décrit son contenu et se trouve au bon endroit de la page.',
    tables: 'Vérifiez que chaque cellule de données dépend des en-têtes qu’un lecteur d’écran annonce pour elle.',
    'text-alternatives':
      'Vérifiez que l’alternative textuelle dit ce que l’image montre ou fait, ou qu’elle est vide si l’image est décorative.',
    'time-and-media':
      'Lancez le média. Vérifiez que les sous-titres ou une transcription contiennent tout ce qui est dit, et qu’on peut le mettre en pause.',
    'link-in-text': 'Vérifiez que le lien se distingue du texte qui l’entoure sans la couleur, et sans le survoler.',
    'target-size': 'Vérifiez que la cible mesure au moins 24 sur 24 pixels CSS, ou qu’elle est assez éloignée de ses voisines.',
    orientation: 'Tournez un appareil mobile. Vérifiez que la page est utilisable en mode portrait et en mode paysage.',
    frame: 'Le contenu de ce cadre n’a pas été testé. Testez la page qu’il contient.',
    hidden: 'Affichez le contenu masqué, par exemple en ouvrant le menu ou la boîte de dialogue, puis testez la page à nouveau.',
    'visible-label': 'Vérifiez que le nom annoncé par un lecteur d’écran contient les mots de l’étiquette visible.',
    'same-links': 'Vérifiez que les liens de même nom mènent à la même cible ou ont la même fonction.',
    any: 'Vérifiez que l’élément respecte la règle. Les tests n’ont pas pu trancher.',
  },
  nl: {
    aria: 'Controleer met een schermlezer of rol, toestand en waarde worden aangekondigd zoals het element eruitziet en zich gedraagt.',
    color:
      'Meet het contrast waar de achtergrond van de tekst het lichtst of donkerst is, zoals op een afbeelding of verloop. Controleer ook hover en focus.',
    forms: 'Controleer of elk veld een zichtbaar label heeft dat zegt wat in te vullen is, en of een schermlezer het aankondigt.',
    keyboard:
      'Bedien het element met alleen het toetsenbord. Controleer of het te bereiken, te gebruiken en te verlaten is en of de focus zichtbaar is.',
    language: 'Controleer of de tekst in de opgegeven taal is geschreven.',
    'name-role-value': 'Controleer of een schermlezer een naam aankondigt die zegt wat het bedieningselement doet.',
    parsing: 'Controleer of elke ID uniek is waarnaar labels, beschrijvingen of ARIA-attributen verwijzen.',
    semantics: 'Controleer of de betekenis die de opmaak aan het element geeft, overeenkomt met wat mensen zien.',
    'sensory-and-visual-cues': 'Controleer of de inhoud bruikbaar blijft bij 200% tekstgrootte en grotere afstanden.',
    structure: 'Controleer of de kop, de lijst of het gebied de inhoud beschrijft en op de juiste plaats op de pagina staat.',
    tables: 'Controleer of elke gegevenscel hoort bij de kopcellen die een schermlezer ervoor aankondigt.',
    'text-alternatives':
      'Controleer of het tekstalternatief zegt wat de afbeelding toont of doet, of leeg is als de afbeelding decoratief is.',
    'time-and-media':
      'Speel het medium af. Controleer of ondertiteling of een transcript alles bevat wat wordt gezegd, en of het te pauzeren is.',
    'link-in-text': 'Controleer of de link ook zonder kleur en zonder hover van de omringende tekst te onderscheiden is.',
    'target-size': 'Controleer of het doel minstens 24 bij 24 CSS-pixels groot is of ver genoeg van zijn buren ligt.',
    orientation: 'Draai een mobiel apparaat. Controleer of de pagina staand en liggend te gebruiken is.',
    frame: 'De inhoud van dit frame is niet getest. Test de pagina die het bevat.',
    hidden: 'Toon de verborgen inhoud, bijvoorbeeld door het menu of dialoogvenster te openen, en test de pagina opnieuw.',
    'visible-label': 'Controleer of de naam die een schermlezer aankondigt de woorden van het zichtbare label bevat.',
    'same-links': 'Controleer of links met dezelfde naam naar hetzelfde doel leiden of hetzelfde doen.',
    any: 'Controleer of het element aan de regel voldoet. De tests konden het niet beslissen.',
  },
  pl: {
    aria: 'Należy sprawdzić czytnikiem ekranu, czy ogłaszane rola, stan i wartość odpowiadają wyglądowi i działaniu elementu.',
    color:
      'Należy zmierzyć kontrast tam, gdzie tło tekstu jest najjaśniejsze lub najciemniejsze, np. na obrazie lub gradiencie, także po najechaniu i przy fokusie.',
    forms: 'Należy sprawdzić, czy każde pole ma widoczną etykietę mówiącą, co wpisać, i czy czytnik ekranu ją odczytuje.',
    keyboard:
      'Należy użyć elementu samą klawiaturą i sprawdzić, czy można do niego dotrzeć, użyć go i go opuścić oraz czy fokus jest widoczny.',
    language: 'Należy sprawdzić, czy tekst jest napisany w podanym języku.',
    'name-role-value': 'Należy sprawdzić, czy czytnik ekranu odczytuje nazwę, która mówi, do czego służy kontrolka.',
    parsing: 'Należy sprawdzić, czy każdy identyfikator, do którego odwołują się etykiety, opisy lub atrybuty ARIA, jest niepowtarzalny.',
    semantics: 'Należy sprawdzić, czy znaczenie nadane elementowi w kodzie odpowiada temu, co widać.',
    'sensory-and-visual-cues': 'Należy sprawdzić, czy treść pozostaje użyteczna przy tekście powiększonym do 200% i większych odstępach.',
    structure: 'Należy sprawdzić, czy nagłówek, lista lub obszar opisuje swoją treść i znajduje się we właściwym miejscu strony.',
    tables: 'Należy sprawdzić, czy każda komórka danych należy do nagłówków, które czytnik ekranu dla niej odczytuje.',
    'text-alternatives':
      'Należy sprawdzić, czy tekst alternatywny mówi, co obraz przedstawia lub robi, albo jest pusty, jeśli obraz jest ozdobny.',
    'time-and-media':
      'Należy odtworzyć materiał i sprawdzić, czy napisy lub transkrypcja zawierają wszystko, co powiedziano, i czy można go zatrzymać.',
    'link-in-text': 'Należy sprawdzić, czy odnośnik odróżnia się od otaczającego tekstu także bez koloru i bez najechania.',
    'target-size': 'Należy sprawdzić, czy cel ma co najmniej 24 na 24 piksele CSS lub leży dostatecznie daleko od sąsiednich.',
    orientation: 'Należy obrócić urządzenie mobilne i sprawdzić, czy ze strony można korzystać w pionie i w poziomie.',
    frame: 'Nie zbadano zawartości tej ramki. Należy zbadać stronę, którą zawiera.',
    hidden: 'Należy wyświetlić ukrytą treść, np. otwierając menu lub okno dialogowe, i zbadać stronę ponownie.',
    'visible-label': 'Należy sprawdzić, czy nazwa odczytywana przez czytnik ekranu zawiera słowa widocznej etykiety.',
    'same-links': 'Należy sprawdzić, czy odnośniki o tej samej nazwie prowadzą do tego samego celu lub służą temu samemu.',
    any: 'Należy sprawdzić, czy element spełnia regułę. Testy nie mogły tego rozstrzygnąć.',
  },
};

const CATEGORY = 'cat.';

/** The topic of a rule: its own, or its category by axe-core's tags. */
function topicOf(rule: string): Topic {
  const own = BY_RULE.get(rule);
  if (own !== undefined) return own;
  const category = standardsOf(rule)
    ?.tags.find((tag) => tag.startsWith(CATEGORY))
    ?.slice(CATEGORY.length);
  return category !== undefined && Object.hasOwn(TEXTS.en, category) ? (category as Topic) : 'any';
}

/** Returns what a person should look at where a rule could not be decided. */
export const reviewText = (rule: string, locale: Locale): string => TEXTS[locale][topicOf(rule)];

/** All texts of a language, by topic. */
export const reviewTexts = (locale: Locale): Readonly<Record<string, string>> => TEXTS[locale];
