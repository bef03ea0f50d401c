/** Values of `podTemplate.resources` that the API server refuses. */
const LIMIT = 'a limit must be a quantity above 0, such as 500m, 2 or 2Gi';
const REQUEST = 'a request must be a quantity that is not negative, such as 500m, 2 or 512Mi';

const CASES: readonly [object, string | RegExp][] = [
  [{ limits: { memory: 1 } }, /must be of type string/],
  [{ limits: { memory: 'lots' } }, LIMIT],
  [{ limits: { cpu: '0' } }, LIMIT],
  [{ requests: { memory: 'lots' } }, REQUEST],
  [{ requests: { memory: 'Gi' } }, REQUEST],
  [{ requests: { cpu: '-1' } }, REQUEST],
  [{ limits: { 'nvidia.com/gpu': '1' } }, 'limits must have no other resources than cpu and memory'],
  [{ requests: { storage: '1Gi' } }, 'requests must have no other resources than cpu and memory'],
  [{ requests: { cpu: '2' }, limits: { cpu: '1500m' } }, 'a request must not exceed the limit of the same resource'],
];

/** What each one is, the part of a scan's spec, and the message. */
export const REFUSED_RESOURCES = CASES.map(([resources, message]): [string, object, string | RegExp] => [
  `the resources ${JSON.stringify(resources)}`,
  { podTemplate: { resources } },
  message,
]);
