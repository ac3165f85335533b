// A Chromium for all journeys, each with browser contexts of its own:
//   node test/chromium.mjs   prints the value of CHROMIUM_SERVER and runs until standard input ends
import { chromium } from 'playwright';
import { serve } from './browser.mjs';

const server = await serve(chromium);
process.stdin.on('end', () => void server.close()).resume();
console.log(server.wsEndpoint());
