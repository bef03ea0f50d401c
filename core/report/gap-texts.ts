/** What may have been missed on a tested page, in the words of each language: for pages, mails and the PDF. */
import type { Locale } from '../scan/locales.ts';
import type { FrameFailureReason, PageCaveatKind } from './schema.ts';

export interface GapTexts {
  /** One sentence for each kind of caveat. */
  caveats: Readonly<Record<PageCaveatKind, string>>;
  /** Why a frame was not tested. */
  frames: Readonly<Record<FrameFailureReason, string>>;
}

export const GAP_TEXTS: Readonly<Record<Locale, GapTexts>> = {
  en: {
    caveats: {
      not_quiet: 'The page kept changing until the time was up. It was tested in the state that it had then.',
      requests_unanswered: 'Some requests of the page were never answered. What they would have shown was not tested.',
      not_scrolled: 'The page could not be scrolled to its end. What appears only on scrolling may be missing.',
      redirect_blocked: 'A script tried to load another page during the test. The page that was displayed until then was tested.',
      wait_for_missing: 'The element that the scan should wait for did not appear.',
      rules_failed: 'Some rules ended with an error on this page. Their findings may be missing.',
      frames_limited: 'The page has too many frames. Not all of them were tested.',
      causes_left_out: 'The page has more violations than fit into the report. The counts are complete, but not every cause is described.',
    },
    frames: {
      not_loaded: 'The frame did not load.',
      timeout: 'The frame did not respond in time.',
      refused: 'The frame points to an address that may not be loaded.',
      removed: 'The page removed the frame during the test.',
      not_html: 'The frame does not show HTML.',
      unsupported: 'The document is in an object or embed element, or in a closed shadow root, which axe-core cannot test.',
      too_many: 'The page has too many frames.',
      test_failed: 'The test failed in the frame.',
    },
  },
  de: {
    caveats: {
      not_quiet: 'Die Seite hat sich verändert, bis die Zeit um war. Geprüft wurde ihr Stand zu diesem Zeitpunkt.',
      requests_unanswered: 'Einige Anfragen der Seite wurden nie beantwortet. Was sie gezeigt hätten, wurde nicht geprüft.',
      not_scrolled: 'Die Seite ließ sich nicht bis zum Ende scrollen. Was erst beim Scrollen erscheint, kann fehlen.',
      redirect_blocked: 'Ein Skript wollte während der Prüfung eine andere Seite laden. Geprüft wurde die bis dahin angezeigte Seite.',
      wait_for_missing: 'Das Element, auf das gewartet werden sollte, ist nicht erschienen.',
      rules_failed: 'Einige Regeln sind auf dieser Seite mit einem Fehler abgebrochen. Ihre Ergebnisse können fehlen.',
      frames_limited: 'Die Seite hat zu viele Frames. Nicht alle wurden geprüft.',
      causes_left_out:
        'Die Seite hat mehr Verstöße, als in den Bericht passen. Die Anzahlen sind vollständig, aber nicht jede Ursache ist beschrieben.',
    },
    frames: {
      not_loaded: 'Der Frame wurde nicht geladen.',
      timeout: 'Der Frame hat nicht rechtzeitig geantwortet.',
      refused: 'Der Frame verweist auf eine Adresse, die nicht geladen werden darf.',
      removed: 'Die Seite hat den Frame während der Prüfung entfernt.',
      not_html: 'Der Frame zeigt kein HTML.',
      unsupported:
        'Das Dokument ist in einem object- oder embed-Element oder in einem geschlossenen Shadow Root, das axe-core nicht prüfen kann.',
      too_many: 'Die Seite hat zu viele Frames.',
      test_failed: 'Die Prüfung ist in dem Frame fehlgeschlagen.',
    },
  },
  fr: {
    caveats: {
      not_quiet:
        'La page n’a pas cessé de changer jusqu’à la fin du temps imparti. Elle a été testée dans l’état où elle se trouvait alors.',
      requests_unanswered: 'Certaines requêtes de la page sont restées sans réponse. Ce qu’elles auraient affiché n’a pas été testé.',
      not_scrolled: 'La page n’a pas pu être défilée jusqu’à la fin. Ce qui n’apparaît qu’au défilement peut manquer.',
      redirect_blocked: 'Pendant le test, un script a tenté de charger une autre page. C’est la page affichée jusque-là qui a été testée.',
      wait_for_missing: 'L’élément que le test devait attendre n’est pas apparu.',
      rules_failed: 'Certaines règles se sont arrêtées sur une erreur. Leurs résultats peuvent manquer.',
      frames_limited: 'La page contient trop de cadres. Ils n’ont pas tous été testés.',
      causes_left_out:
        'La page compte plus de violations que le rapport ne peut en contenir. Les nombres sont complets, mais toutes les causes ne sont pas décrites.',
    },
    frames: {
      not_loaded: 'Le cadre ne s’est pas chargé.',
      timeout: 'Le cadre n’a pas répondu à temps.',
      refused: 'Le cadre mène à une adresse qui ne doit pas être chargée.',
      removed: 'La page a retiré le cadre pendant le test.',
      not_html: 'Le cadre n’affiche pas de HTML.',
      unsupported: 'Le document se trouve dans un élément object ou embed, ou dans un shadow root fermé, qu’axe-core ne peut pas tester.',
      too_many: 'La page contient trop de cadres.',
      test_failed: 'Le test a échoué dans le cadre.',
    },
  },
  nl: {
    caveats: {
      not_quiet: 'De pagina bleef veranderen tot de tijd om was. Ze is getest zoals ze er op dat moment uitzag.',
      requests_unanswered: 'Sommige verzoeken van de pagina zijn nooit beantwoord. Wat ze zouden hebben getoond, is niet getest.',
      not_scrolled: 'De pagina kon niet tot het einde worden gescrold. Wat pas bij het scrollen verschijnt, kan ontbreken.',
      redirect_blocked: 'Een script probeerde tijdens de test een andere pagina te laden. De tot dan toe getoonde pagina is getest.',
      wait_for_missing: 'Het element waarop de test moest wachten, is niet verschenen.',
      rules_failed: 'Sommige regels zijn op deze pagina met een fout gestopt. Hun resultaten kunnen ontbreken.',
      frames_limited: 'De pagina heeft te veel frames. Ze zijn niet allemaal getest.',
      causes_left_out:
        'De pagina heeft meer schendingen dan in het rapport passen. De aantallen zijn volledig, maar niet elke oorzaak is beschreven.',
    },
    frames: {
      not_loaded: 'Het frame is niet geladen.',
      timeout: 'Het frame reageerde niet op tijd.',
      refused: 'Het frame verwijst naar een adres dat niet mag worden geladen.',
      removed: 'De pagina heeft het frame tijdens de test verwijderd.',
      not_html: 'Het frame toont geen HTML.',
      unsupported: 'Het document staat in een object- of embed-element of in een gesloten shadow root, die axe-core niet kan testen.',
      too_many: 'De pagina heeft te veel frames.',
      test_failed: 'De test is in het frame mislukt.',
    },
  },
  pl: {
    caveats: {
      not_quiet: 'Strona zmieniała się aż do upływu czasu. Sprawdzono ją w stanie, w jakim była w tej chwili.',
      requests_unanswered: 'Niektóre żądania strony pozostały bez odpowiedzi. To, co miały pokazać, nie zostało sprawdzone.',
      not_scrolled: 'Strony nie udało się przewinąć do końca. Może brakować treści, które pojawiają się dopiero przy przewijaniu.',
      redirect_blocked: 'W trakcie badania skrypt próbował wczytać inną stronę. Zbadano stronę wyświetlaną do tego momentu.',
      wait_for_missing: 'Element, na który należało poczekać, nie pojawił się.',
      rules_failed: 'Niektóre reguły zakończyły się na tej stronie błędem. Ich wyników może brakować.',
      frames_limited: 'Strona ma zbyt wiele ramek. Nie wszystkie zostały sprawdzone.',
      causes_left_out: 'Strona ma więcej naruszeń, niż mieści się w raporcie. Liczby są pełne, ale nie każda przyczyna jest opisana.',
    },
    frames: {
      not_loaded: 'Ramka nie została wczytana.',
      timeout: 'Ramka nie odpowiedziała na czas.',
      refused: 'Ramka prowadzi do adresu, którego nie wolno wczytać.',
      removed: 'Strona usunęła ramkę w trakcie sprawdzania.',
      not_html: 'Ramka nie zawiera HTML.',
      unsupported: 'Dokument znajduje się w elemencie object lub embed albo w zamkniętym shadow root, którego axe-core nie może sprawdzić.',
      too_many: 'Strona ma zbyt wiele ramek.',
      test_failed: 'Sprawdzanie nie powiodło się w ramce.',
    },
  },
};
