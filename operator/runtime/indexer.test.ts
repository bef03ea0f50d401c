import { expect } from 'chai';
import fc from 'fast-check';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { createIndexer, freeze } from './cache.ts';

interface Thing extends KubernetesObject {
  colours: string[];
}

const thing = (name: string, version: string, colours: string[] = [], uid = `uid-${name}`): Thing => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { namespace: 'ns', name, uid, resourceVersion: version },
  colours,
});

describe('indexer', () => {
  const setUp = () => createIndexer<Thing>({ colour: ({ colours }) => colours });

  it('emits deleted and added for an object with another uid', () => {
    const store = setUp();
    store.put(thing('a', '1', ['red'], 'one'));
    const events = store.put(thing('a', '9', ['blue'], 'two'));
    expect(events.map(({ type, object }) => `${type} ${object.metadata.uid}`)).to.deep.equal(['deleted one', 'added two']);
    expect(store.byIndex('colour', 'red')).to.deep.equal([]);
  });

  it('emits the last state from the server with a deletion', () => {
    const store = setUp();
    store.put(thing('a', '1', ['red']));
    const [event] = store.remove(thing('a', '2', ['blue']));
    expect([event?.object.colours, event?.previous?.colours]).to.deep.equal([['blue'], ['red']]);
    expect(store.remove(thing('a', '3'))).to.deep.equal([]);
  });

  it('freezes shared objects deeply', () => {
    const store = setUp();
    store.put(thing('a', '1', ['red']));
    const held = store.get('ns', 'a')!;
    expect(() => held.colours.push('blue')).to.throw(TypeError);
    expect(() => (held.metadata.labels = {})).to.throw(TypeError);
    expect(freeze(null)).to.equal(null);
  });

  it('matches a model after any steps, and its events reproduce its content', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const object = fc
      .record({
        name,
        version: fc.nat({ max: 5 }),
        colours: fc.uniqueArray(fc.constantFrom('red', 'blue', 'green')),
        uid: fc.constantFrom('1', '2'),
      })
      .map(({ name, version, colours, uid }) => thing(name, `${version}-${colours.join()}`, colours, uid));
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), object }),
      fc.record({ do: fc.constant('remove' as const), object }),
      fc.record({ do: fc.constant('replace' as const), objects: fc.uniqueArray(object, { selector: ({ metadata }) => metadata.name }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const store = setUp();
        let model = new Map<string, Thing>();
        const rebuilt = new Map<string, Thing>();
        for (const step of steps) {
          const events =
            step.do === 'put' ? store.put(step.object) : step.do === 'remove' ? store.remove(step.object) : store.replace(step.objects);
          if (step.do === 'put') model.set(step.object.metadata.name, step.object);
          else if (step.do === 'remove') model.delete(step.object.metadata.name);
          else model = new Map(step.objects.map((object) => [object.metadata.name, object]));
          for (const { type, object } of events) {
            expect(rebuilt.has(object.metadata.name), type).to.equal(type !== 'added');
            if (type === 'deleted') rebuilt.delete(object.metadata.name);
            else rebuilt.set(object.metadata.name, object);
          }
        }
        const sorted = (things: Iterable<Thing>) => [...things].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
        expect(sorted(store.list())).to.deep.equal(sorted(model.values()));
        expect(sorted(rebuilt.values())).to.deep.equal(sorted(model.values()));
        for (const colour of ['red', 'blue', 'green']) {
          expect(sorted(store.byIndex('colour', colour))).to.deep.equal(
            sorted([...model.values()].filter(({ colours }) => colours.includes(colour))),
          );
        }
      }),
    );
  });
});
