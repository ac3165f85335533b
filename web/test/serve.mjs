// A browser for all journeys, each with browser contexts of its own:
//   node test/serve.mjs   prints the value of CODER_E2E_BROWSER_SERVER and runs until standard input ends
import { serve } from './browser.mjs';

const server = await serve();
process.stdin.on('end', () => void server.close()).resume();
console.log(server.wsEndpoint());
