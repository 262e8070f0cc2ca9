import { newQuickJSWASMModule } from 'quickjs-emscripten';
import { peer } from './quickjs.mjs';

// A WebAssembly module of its own for each eval: nothing is shared.
export const { evaluate, hold } = peer(() => newQuickJSWASMModule());
