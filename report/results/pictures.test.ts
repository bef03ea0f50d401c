import { expect } from 'chai';
import fc from 'fast-check';
import { jpegOf } from '../../test/support/scan-results.ts';
import { jpegSize } from './pictures.ts';

describe('jpegSize', () => {
  it('reads the size from the frame header, after other segments', () => {
    const jpeg = jpegOf(1280, 720);
    const comment = Buffer.from([0xff, 0xfe, 0, 6, 0xff, 0xc0, 0, 11]);
    expect(jpegSize(jpeg)).to.deep.equal({ width: 1280, height: 720 });
    expect(jpegSize(Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]))).to.deep.equal({ width: 1280, height: 720 });
  });

  it('refuses what is not a whole JPEG file', () => {
    const jpeg = jpegOf(10, 10);
    for (const bytes of [
      Buffer.from('<svg onload="alert(1)"/>'),
      jpeg.subarray(0, -1),
      jpeg.subarray(1),
      Buffer.from([0xff, 0xd8, 0xff, 0xd9]),
    ])
      expect(jpegSize(bytes)).to.equal(null);
  });

  it('ends for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (middle) => {
        jpegSize(middle);
        jpegSize(Uint8Array.from([0xff, 0xd8, ...middle, 0xff, 0xd9]));
      }),
    );
  });
});
