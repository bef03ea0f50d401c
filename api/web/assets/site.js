/** Loaded by every page. Each part works on elements with its own data attribute; pages work without it. */
import { enableCopying } from './copy.js';
import { enableDialogs } from './dialog.js';
import { followLiveParts } from './live.js';

// The focus moves to the errors of a form, so that screen readers read them and keyboards start there.
document.querySelector('[data-focus]')?.focus();
// First, because it compares parts with what the server sent.
followLiveParts(enableCopying);
enableCopying(document);
enableDialogs(document);
