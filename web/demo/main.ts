// The entry point of the demo. The mock must be installed before the dashboard starts.

import './install';
import '../src/main';
