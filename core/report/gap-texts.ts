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
      content_blocked:
        'A dialog or another layer covers most of the page, or keeps it from being used. What is behind it was tested only in part.',
      script_failed: 'A script of the page did not load, or ended with an error. What it would have shown was not tested.',
      style_failed:
        'A style sheet of the page did not load. The page was tested without it, so colours, sizes and visible content may differ.',
      data_failed: 'Data that the page requested did not load. What it would have shown was not tested.',
      request_refused: 'The page requested addresses that the scanner must not reach. What they would have shown was not tested.',
      requests_unanswered: 'Some requests of the page were never answered. What they would have shown was not tested.',
      still_loading: 'The page was still loading when the time was up. It was tested in the state that it had then.',
      still_busy: 'The page was still at work, for example in a script or a timer. What it would have shown later was not tested.',
      not_quiet: 'The page kept changing until the time was up. It was tested in the state that it had then.',
      wait_skipped:
        'Waiting longer showed more content on pages like this one, but the wait was cut short here. Such content may be missing.',
      not_scrolled: 'The page could not be scrolled to its end. What appears only on scrolling may be missing.',
      view_only: 'Some content is shown only while it is in view. It was not tested in that state.',
      closed_shadow_root: 'Parts of the page are in closed shadow roots, which axe-core cannot test. They were not tested.',
      redirect_blocked: 'A script tried to load another page during the test. The page that was displayed until then was tested.',
      wait_for_missing: 'The element that the scan should wait for did not appear.',
      rules_failed: 'Some rules ended with an error on this page. Their findings may be missing.',
      frames_limited: 'The page has too many frames. Not all of them were tested.',
      causes_left_out: 'The page has more violations than fit into the report. The counts are complete, but not every cause is described.',
      dialog_untested: 'The page could not be tested with the open consent dialog, only after its answer.',
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
      content_blocked:
        'Ein Dialog oder eine andere Ebene verdeckt den größten Teil der Seite oder macht ihn unbedienbar. Was dahinter liegt, wurde nur teilweise geprüft.',
      script_failed: 'Ein Skript der Seite wurde nicht geladen oder brach mit einem Fehler ab. Was es gezeigt hätte, wurde nicht geprüft.',
      style_failed:
        'Ein Stylesheet der Seite wurde nicht geladen. Die Seite wurde ohne es geprüft, daher können Farben, Größen und sichtbare Inhalte abweichen.',
      data_failed: 'Daten, die die Seite angefordert hat, wurden nicht geladen. Was sie gezeigt hätten, wurde nicht geprüft.',
      request_refused:
        'Die Seite hat Adressen angefordert, die der Scanner nicht erreichen darf. Was sie gezeigt hätten, wurde nicht geprüft.',
      requests_unanswered: 'Einige Anfragen der Seite wurden nie beantwortet. Was sie gezeigt hätten, wurde nicht geprüft.',
      still_loading: 'Die Seite wurde noch geladen, als die Zeit um war. Geprüft wurde ihr Stand zu diesem Zeitpunkt.',
      still_busy:
        'Die Seite arbeitete noch, zum Beispiel in einem Skript oder einem Timer. Was sie später gezeigt hätte, wurde nicht geprüft.',
      not_quiet: 'Die Seite hat sich verändert, bis die Zeit um war. Geprüft wurde ihr Stand zu diesem Zeitpunkt.',
      wait_skipped:
        'Auf ähnlichen Seiten erschienen nach längerem Warten weitere Inhalte, hier wurde die Wartezeit verkürzt. Solche Inhalte können fehlen.',
      not_scrolled: 'Die Seite ließ sich nicht bis zum Ende scrollen. Was erst beim Scrollen erscheint, kann fehlen.',
      view_only: 'Einige Inhalte werden nur angezeigt, solange sie im sichtbaren Bereich sind. In diesem Zustand wurden sie nicht geprüft.',
      closed_shadow_root: 'Teile der Seite liegen in geschlossenen Shadow Roots, die axe-core nicht prüfen kann. Sie wurden nicht geprüft.',
      redirect_blocked: 'Ein Skript wollte während der Prüfung eine andere Seite laden. Geprüft wurde die bis dahin angezeigte Seite.',
      wait_for_missing: 'Das Element, auf das gewartet werden sollte, ist nicht erschienen.',
      rules_failed: 'Einige Regeln sind auf dieser Seite mit einem Fehler abgebrochen. Ihre Ergebnisse können fehlen.',
      frames_limited: 'Die Seite hat zu viele Frames. Nicht alle wurden geprüft.',
      causes_left_out:
        'Die Seite hat mehr Verstöße, als in den Bericht passen. Die Anzahlen sind vollständig, aber nicht jede Ursache ist beschrieben.',
      dialog_untested: 'Die Seite konnte nicht mit offenem Einwilligungsdialog geprüft werden, nur nach der Antwort.',
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
      content_blocked:
        'Une boîte de dialogue ou une autre couche recouvre la plus grande partie de la page ou empêche de l’utiliser. Ce qui se trouve derrière n’a été testé qu’en partie.',
      script_failed: 'Un script de la page ne s’est pas chargé ou s’est arrêté sur une erreur. Ce qu’il aurait affiché n’a pas été testé.',
      style_failed:
        'Une feuille de style de la page ne s’est pas chargée. La page a été testée sans elle : les couleurs, les tailles et le contenu visible peuvent différer.',
      data_failed: 'Des données demandées par la page ne se sont pas chargées. Ce qu’elles auraient affiché n’a pas été testé.',
      request_refused:
        'La page a demandé des adresses que l’outil de test n’est pas autorisé à contacter. Ce qu’elles auraient affiché n’a pas été testé.',
      requests_unanswered: 'Certaines requêtes de la page sont restées sans réponse. Ce qu’elles auraient affiché n’a pas été testé.',
      still_loading:
        'La page était encore en cours de chargement à la fin du temps imparti. Elle a été testée dans l’état où elle se trouvait alors.',
      still_busy:
        'La page travaillait encore, par exemple dans un script ou un minuteur. Ce qu’elle aurait affiché ensuite n’a pas été testé.',
      not_quiet:
        'La page n’a pas cessé de changer jusqu’à la fin du temps imparti. Elle a été testée dans l’état où elle se trouvait alors.',
      wait_skipped:
        'Sur des pages semblables, une attente plus longue a fait apparaître du contenu ; ici, elle a été écourtée. Un tel contenu peut manquer.',
      not_scrolled: 'La page n’a pas pu être défilée jusqu’à la fin. Ce qui n’apparaît qu’au défilement peut manquer.',
      view_only:
        'Certains contenus ne s’affichent que lorsqu’ils sont dans la partie visible de la page. Ils n’ont pas été testés dans cet état.',
      closed_shadow_root:
        'Des parties de la page se trouvent dans des shadow roots fermés, qu’axe-core ne peut pas tester. Elles n’ont pas été testées.',
      redirect_blocked: 'Pendant le test, un script a tenté de charger une autre page. C’est la page affichée jusque-là qui a été testée.',
      wait_for_missing: 'L’élément que le test devait attendre n’est pas apparu.',
      rules_failed: 'Certaines règles se sont arrêtées sur une erreur. Leurs résultats peuvent manquer.',
      frames_limited: 'La page contient trop de cadres. Ils n’ont pas tous été testés.',
      causes_left_out:
        'La page compte plus de violations que le rapport ne peut en contenir. Les nombres sont complets, mais toutes les causes ne sont pas décrites.',
      dialog_untested: 'La page n’a pas pu être testée avec la boîte de dialogue de consentement ouverte, seulement après la réponse.',
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
      content_blocked:
        'Een dialoogvenster of een andere laag bedekt het grootste deel van de pagina of maakt het onbruikbaar. Wat erachter staat, is maar gedeeltelijk getest.',
      script_failed: 'Een script van de pagina is niet geladen of is met een fout gestopt. Wat het zou hebben getoond, is niet getest.',
      style_failed:
        'Een stylesheet van de pagina is niet geladen. De pagina is zonder dat stylesheet getest, dus kleuren, afmetingen en zichtbare inhoud kunnen afwijken.',
      data_failed: 'Gegevens die de pagina opvroeg, zijn niet geladen. Wat ze zouden hebben getoond, is niet getest.',
      request_refused: 'De pagina vroeg adressen op die de scanner niet mag bereiken. Wat ze zouden hebben getoond, is niet getest.',
      requests_unanswered: 'Sommige verzoeken van de pagina zijn nooit beantwoord. Wat ze zouden hebben getoond, is niet getest.',
      still_loading: 'De pagina was nog aan het laden toen de tijd om was. Ze is getest zoals ze er op dat moment uitzag.',
      still_busy: 'De pagina was nog bezig, bijvoorbeeld met een script of een timer. Wat ze later zou hebben getoond, is niet getest.',
      not_quiet: 'De pagina bleef veranderen tot de tijd om was. Ze is getest zoals ze er op dat moment uitzag.',
      wait_skipped:
        'Op vergelijkbare pagina’s verscheen na langer wachten meer inhoud; hier is de wachttijd ingekort. Zulke inhoud kan ontbreken.',
      not_scrolled: 'De pagina kon niet tot het einde worden gescrold. Wat pas bij het scrollen verschijnt, kan ontbreken.',
      view_only: 'Sommige inhoud wordt alleen getoond zolang die in beeld is. In die toestand is ze niet getest.',
      closed_shadow_root: 'Delen van de pagina staan in gesloten shadow roots, die axe-core niet kan testen. Ze zijn niet getest.',
      redirect_blocked: 'Een script probeerde tijdens de test een andere pagina te laden. De tot dan toe getoonde pagina is getest.',
      wait_for_missing: 'Het element waarop de test moest wachten, is niet verschenen.',
      rules_failed: 'Sommige regels zijn op deze pagina met een fout gestopt. Hun resultaten kunnen ontbreken.',
      frames_limited: 'De pagina heeft te veel frames. Ze zijn niet allemaal getest.',
      causes_left_out:
        'De pagina heeft meer schendingen dan in het rapport passen. De aantallen zijn volledig, maar niet elke oorzaak is beschreven.',
      dialog_untested: 'De pagina kon niet met de open toestemmingsdialoog worden getest, alleen na het antwoord.',
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
      content_blocked:
        'Okno dialogowe lub inna warstwa zasłania większość strony albo uniemożliwia korzystanie z niej. To, co jest za nią, sprawdzono tylko częściowo.',
      script_failed: 'Skrypt strony nie został wczytany albo zakończył się błędem. To, co miał pokazać, nie zostało sprawdzone.',
      style_failed:
        'Arkusz stylów strony nie został wczytany. Stronę sprawdzono bez niego, więc kolory, rozmiary i widoczna treść mogą się różnić.',
      data_failed: 'Dane, których zażądała strona, nie zostały wczytane. To, co miały pokazać, nie zostało sprawdzone.',
      request_refused: 'Strona zażądała adresów, z którymi skaner nie może się łączyć. To, co miały pokazać, nie zostało sprawdzone.',
      requests_unanswered: 'Niektóre żądania strony pozostały bez odpowiedzi. To, co miały pokazać, nie zostało sprawdzone.',
      still_loading: 'Strona nadal się wczytywała, gdy upłynął czas. Sprawdzono ją w stanie, w jakim była w tej chwili.',
      still_busy: 'Strona nadal pracowała, na przykład w skrypcie lub liczniku czasu. To, co pokazałaby później, nie zostało sprawdzone.',
      not_quiet: 'Strona zmieniała się aż do upływu czasu. Sprawdzono ją w stanie, w jakim była w tej chwili.',
      wait_skipped:
        'Na podobnych stronach po dłuższym oczekiwaniu pojawiało się więcej treści, a tutaj czas oczekiwania skrócono. Takiej treści może brakować.',
      not_scrolled: 'Strony nie udało się przewinąć do końca. Może brakować treści, które pojawiają się dopiero przy przewijaniu.',
      view_only: 'Część treści jest pokazywana tylko wtedy, gdy znajduje się w widocznym obszarze. W tym stanie nie została sprawdzona.',
      closed_shadow_root:
        'Części strony znajdują się w zamkniętych shadow root, których axe-core nie może sprawdzić. Nie zostały sprawdzone.',
      redirect_blocked: 'W trakcie badania skrypt próbował wczytać inną stronę. Zbadano stronę wyświetlaną do tego momentu.',
      wait_for_missing: 'Element, na który należało poczekać, nie pojawił się.',
      rules_failed: 'Niektóre reguły zakończyły się na tej stronie błędem. Ich wyników może brakować.',
      frames_limited: 'Strona ma zbyt wiele ramek. Nie wszystkie zostały sprawdzone.',
      causes_left_out: 'Strona ma więcej naruszeń, niż mieści się w raporcie. Liczby są pełne, ale nie każda przyczyna jest opisana.',
      dialog_untested: 'Strony nie udało się przetestować z otwartym oknem zgody, tylko po odpowiedzi.',
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
