import { getQuickJS } from 'quickjs-emscripten';
import { peer } from './quickjs.mjs';

// One WebAssembly module for all; a new runtime and context in it each time.
export const { evaluate, hold } = peer(getQuickJS);
