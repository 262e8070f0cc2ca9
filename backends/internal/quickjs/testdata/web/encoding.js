const rows = [];
const enc = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
const of = (text) => Uint8Array.from(text.match(/../g) ?? [], (x) => parseInt(x, 16));
const err = (f) => { try { return f(); } catch (e) { return e.name; } };
for (const [text, want] of [
  ['', ''], ['abc', '616263'], ['é', 'c3a9'], ['€', 'e282ac'], ['💩', 'f09f92a9'], ['a\ud800b', '61efbfbd62'],
  ['\udc00', 'efbfbd'], ['\ud83d\ud83d\udca9', 'efbfbdf09f92a9'], ['\u0000\u007f\u0080\u07ff\u0800\uffff', '007fc280dfbfe0a080efbfbf'],
]) rows.push(['encode ' + JSON.stringify(text), hex(enc.encode(text)), want]);
rows.push(['encode nothing', [hex(enc.encode()), hex(enc.encode(undefined)), hex(enc.encode(null))], ['', '', '6e756c6c']]);
rows.push(['encode gives a whole buffer', [enc.encode('aé').buffer.byteLength, enc.encode('aé') instanceof Uint8Array], [3, true]]);
rows.push(['encode long text', hex(enc.encode('a'.repeat(9000) + 'é' + 'b'.repeat(9000))).length, 2 * 18002]);
for (const [text, room, want] of [['abc', 2, '2,2,6162'], ['aé', 2, '1,1,6100'], ['💩x', 4, '2,4,f09f92a9'], ['💩', 3, '0,0,000000'], ['\ud800', 3, '1,3,efbfbd'], ['', 0, '0,0,']]) {
  const target = new Uint8Array(room);
  const { read, written } = enc.encodeInto(text, target);
  rows.push(['encodeInto ' + JSON.stringify(text) + ' ' + room, [read, written, hex(target)].join(), want]);
}
rows.push(['encodeInto needs bytes', err(() => enc.encodeInto('a', new Uint16Array(2))), 'TypeError']);
for (const [bytes, want] of [
  ['', ''], ['616263', 'abc'], ['c3a9e282acf09f92a9', 'é€💩'], ['ff', '\ufffd'], ['c3', '\ufffd'], ['e282', '\ufffd'], ['e28261', '\ufffda'],
  ['c080', '\ufffd\ufffd'], ['eda080', '\ufffd\ufffd\ufffd'], ['f48fbfbf', '\u{10ffff}'], ['f4908080', '\ufffd\ufffd\ufffd\ufffd'],
  ['f09f92', '\ufffd'], ['f09f9261', '\ufffda'], ['e0a0', '\ufffd'], ['e09f80', '\ufffd\ufffd\ufffd'], ['efbbbf61', 'a'], ['efbbbfefbbbf61', '\ufeffa'], ['61efbbbf', 'a\ufeff'], ['00', '\0'],
]) rows.push(['utf-8 ' + bytes, new TextDecoder().decode(of(bytes)), want]);
for (const [label, bytes, want] of [
  ['utf-16le', '6100e900', 'aé'], ['utf-16', '3dd8a9dc', '💩'], ['utf-16le', '3dd86100', '\ufffda'], ['utf-16le', 'a9dc', '\ufffd'], ['utf-16le', '61', '\ufffd'], ['utf-16le', 'fffe6100', 'a'],
  ['utf-16be', '006100e9', 'aé'], ['latin1', '80e9ff9f', '€éÿŸ'], ['ascii', '61ff', 'aÿ'], ['iso-8859-1', '818d', '\x81\x8d'], ['windows-1252', '93', '“'],
]) rows.push([label + ' ' + bytes, new TextDecoder(label).decode(of(bytes)), want]);
rows.push(['labels', ['UTF8', ' utf-8\n', 'unicode-1-1-utf-8', 'L1', 'us-ascii', 'ucs-2', 'utf-16be'].map((l) => new TextDecoder(l).encoding).join(),
  'utf-8,utf-8,utf-8,windows-1252,windows-1252,utf-16le,utf-16be']);
for (const label of ['', 'utf-7', '|', 'utf-8|utf8', 'nope', 'utf-8\0']) rows.push(['label ' + JSON.stringify(label), err(() => new TextDecoder(label)), 'RangeError']);
rows.push(['properties', (({ encoding, fatal, ignoreBOM }) => [encoding, fatal, ignoreBOM])(new TextDecoder('utf8', { fatal: 1, ignoreBOM: 'x' })), ['utf-8', true, true]]);
rows.push(['fatal', ['ff', 'c3', 'e282', 'eda080'].map((b) => err(() => new TextDecoder('utf-8', { fatal: true }).decode(of(b)))).join(), 'TypeError,TypeError,TypeError,TypeError']);
rows.push(['fatal utf-16', err(() => new TextDecoder('utf-16le', { fatal: true }).decode(of('3dd8'))), 'TypeError']);
rows.push(['ignoreBOM', new TextDecoder('utf-8', { ignoreBOM: true }).decode(of('efbbbf61')), '\ufeffa']);
{
  const d = new TextDecoder();
  const out = [];
  for (const b of of('efbbbf61f09f92a9e282')) out.push(d.decode(Uint8Array.of(b), { stream: true }));
  out.push(d.decode());
  rows.push(['stream byte by byte', out, ['', '', '', 'a', '', '', '', '💩', '', '', '\ufffd']]);
  rows.push(['a decoder is used again', d.decode(of('efbbbf62')), 'b']);
}
{
  const d = new TextDecoder('utf-16le');
  rows.push(['stream utf-16', [d.decode(of('3d'), { stream: true }), d.decode(of('d8a9'), { stream: true }), d.decode(of('dc'))], ['', '', '💩']]);
}
{
  const buffer = of('00616263ff').buffer;
  rows.push(['sources', [new TextDecoder().decode(new DataView(buffer, 1, 2)), new TextDecoder().decode(new Uint16Array(buffer.slice(0, 4), 2, 1)),
    new TextDecoder().decode(buffer.slice(1, 4)), new TextDecoder().decode(undefined)], ['ab', 'bc', 'abc', '']]);
}
for (const bad of ['abc', 5, null, {}, [1]]) rows.push(['decode ' + JSON.stringify(bad), err(() => new TextDecoder().decode(bad)), 'TypeError']);
{
  const text = ('añ€💩' + 'x'.repeat(50)).repeat(2000);
  rows.push(['long text there and back', new TextDecoder().decode(enc.encode(text)) === text, true]);
}
rows.push(['brands', [err(() => TextEncoder.prototype.encode.call({}, 'a')), err(() => TextDecoder.prototype.decode.call({})), err(() => TextDecoder()), err(() => TextEncoder.prototype.encoding)],
  ['TypeError', 'TypeError', 'TypeError', 'TypeError']]);
rows.push(['tags', [String(enc), String(new TextDecoder()), enc.encoding], ['[object TextEncoder]', '[object TextDecoder]', 'utf-8']]);
rows.push(['base64', [btoa('a\xff'), atob(' Y Q = = '), atob('YWI'), btoa(''), err(() => btoa('€')), err(() => atob('a')), err(() => atob('*'))],
  ['Yf8=', 'a', 'ab', '', 'InvalidCharacterError', 'InvalidCharacterError', 'InvalidCharacterError']]);
return rows;
