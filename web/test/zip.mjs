import { crc32 } from 'node:zlib';

/** Returns an uncompressed zip archive of texts by file name. */
export function zip(files) {
  const bodies = [];
  const table = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    const path = Buffer.from(name);
    const about = Buffer.alloc(26); // shared by the local header and the central directory
    about.writeUInt16LE(20, 0);
    about.writeUInt32LE(crc32(data), 10);
    about.writeUInt32LE(data.length, 14);
    about.writeUInt32LE(data.length, 18);
    about.writeUInt16LE(path.length, 22);
    const entry = Buffer.alloc(16);
    entry.writeUInt32LE(at, 12);
    bodies.push(Buffer.from('PK\x03\x04'), about, path, data);
    table.push(Buffer.from('PK\x01\x02\x14\x00'), about, entry.subarray(2), path);
    at += 4 + about.length + path.length + data.length;
  }
  const end = Buffer.alloc(18);
  const n = Object.keys(files).length;
  end.writeUInt16LE(n, 4);
  end.writeUInt16LE(n, 6);
  end.writeUInt32LE(Buffer.concat(table).length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...bodies, ...table, Buffer.from('PK\x05\x06'), end]);
}
