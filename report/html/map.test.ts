import { expect } from 'chai';
import type { Box } from '../schema/page.ts';
import { pageMap, placeText, type Mark } from './map.ts';

const SIZE = { width: 1280, height: 4000 };
const box = (x: number, y: number, width = 400, height = 200): Box => ({ x, y, width, height });
const mark = (label: string, boxes: Mark['boxes']): Mark => ({
  label,
  title: 'Images must have alternative text',
  href: `#violations-${label}`,
  kind: 'violation',
  boxes,
});
const drawn = (marks: Mark[], size = SIZE): string =>
  String(pageMap({ size, marks, picture: { src: '/page-1.jpg', width: 320, height: 1000 } }));
const count = (text: string, part: string): number => text.split(part).length - 1;

describe('the map of a page', () => {
  it('draws each element to scale, and one link for each finding', () => {
    const map = drawn([mark('1', [box(320, 640), box(0, 3000)]), mark('2', [box(640, 0)])]);
    expect(map).to.include('viewBox="0 0 320 1000"').and.include('<rect class="map-box" x="80" y="160" width="100" height="50">');
    expect(count(map, '<a ')).to.equal(2);
    expect(count(map, 'class="map-box"')).to.equal(3);
    expect(map).to.include('aria-label="1: Images must have alternative text, 2 places"');
  });

  it('says what it does not show', () => {
    const map = drawn([mark('1', [null, box(-500, 0), box(0, 9000), box(0, 0)]), mark('2', [null])]);
    expect(map).to.include('4 elements are not on the map');
    expect(count(map, '<a ')).to.equal(1);
    expect(drawn([mark('1', [null])]))
      .to.include('1 element is not on the map')
      .and.not.include('<svg');
  });

  it('is not an empty frame without a picture, but says why there is none', () => {
    const map = String(pageMap({ size: SIZE, marks: [mark('1', [box(0, 0)])], picture: null }));
    expect(map).to.include('the scan has no picture of it').and.not.include('<svg');
  });

  it('ends within bounds for any page, and draws the smallest element', () => {
    const map = drawn([mark('1', [box(5, 900_000, 1, 1)]), mark('2', [box(10, 10, 1, 1)])], { width: 1280, height: 1_000_000 });
    expect(map).to.include('viewBox="0 0 320 6000"').and.include('1 element is not on the map').and.include('width="4" height="4"');
    expect(drawn([mark('1', [box(0, 0)])], { width: 10_000_000, height: 1 })).to.include('viewBox="0 0 320 16"');
  });

  it('writes numbers beside each other, and the same number once', () => {
    const map = drawn([mark('1', [box(0, 400), box(8, 400), box(4, 408)]), mark('2', [box(0, 400)])]);
    expect(count(map, '>1</text>')).to.equal(1);
    const at = (label: string): number => Number(new RegExp(`x="([\\d.]+)"[^>]*>${label}</text>`).exec(map)![1]);
    expect(at('2') - at('1')).to.be.at.least(15);
  });

  it('has words for a place', () => {
    expect(placeText(box(1200, 30))).to.equal('1,200 px from the left, 30 px from the top, 400 × 200 px');
    expect(placeText(null)).to.equal('Not displayed');
  });
});
