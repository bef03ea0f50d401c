/** The embedded documents as a process of their own, which a test can stop with SIGSTOP. Arguments: host, data folder. Prints the URL. */
import { startDocuments } from '../../local/documents/documents.ts';

const [host, dataDir] = process.argv.slice(2);
const documents = await startDocuments({ host, dataDir });
console.log(documents.url);
// The test closes the pipe when it ends, also if it crashes.
process.stdin.on('end', () => void documents.close().then(() => process.exit(0)));
process.stdin.resume();
