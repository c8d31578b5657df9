// A browser packs its screenshots quickly and not tightly; the same picture packed with patience is a third smaller.

import { deflateSync, inflateSync } from "node:zlib";

/** The same PNG in fewer bytes. */
export function smaller(png) {
  const kept = [];
  const data = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IDAT") data.push(body);
    else if (type === "IHDR") kept.push(chunk(type, body));
    at += length + 12;
  }
  const packed = deflateSync(inflateSync(Buffer.concat(data)), { level: 9, memLevel: 9 });
  const again = Buffer.concat([png.subarray(0, 8), ...kept, chunk("IDAT", packed), chunk("IEND", Buffer.alloc(0))]);
  return again.length < png.length ? again : png;
}

function chunk(type, body) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(checksum(named));
  return Buffer.concat([length, named, sum]);
}

/** The cyclic redundancy check of PNG. */
function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
