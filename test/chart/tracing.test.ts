/** The chart sends spans to the collector of its values, and lets nothing else through. */
import { expect } from 'chai';
import { Environment as ApiEnvironment } from '../../api/config.ts';
import { Environment as OperatorEnvironment } from '../../operator/config.ts';
import { needsHelm, PLAIN, podsOf, render, settingSources } from './rendered.ts';

describe('tracing settings of the chart', () => {
  needsHelm();
  const ON = {
    ...PLAIN,
    'tracing.endpoint': 'http://collector.tracing.svc:4318',
    'tracing.scannerEndpoint': 'http://10.9.8.7:4319',
    'tracing.headersSecret.name': 'collector',
  };
  const environmentOf = (values: object, name: string) =>
    podsOf(render({ ...values }))
      .get(name)!
      .containers[0]!.env!.filter((variable) => variable.name.includes('OTEL'));
  const egressOf = (values: object, name: string): string =>
    JSON.stringify(render({ ...values }).find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)!.spec);

  it('are absent unless a collector is set, also for scanner pods', () => {
    for (const values of [PLAIN, { ...PLAIN, 'tracing.scannerEndpoint': 'http://10.9.8.7:4319' }]) {
      for (const name of ['curbcut-api', 'curbcut-operator']) expect(environmentOf(values, name)).to.deep.equal([]);
      expect(egressOf(values, 'curbcut-scanner')).not.to.include('4319');
    }
  });

  it('set the collector in both processes and open the network to it', () => {
    const headers = { name: 'OTEL_EXPORTER_OTLP_HEADERS_FILE', value: '/run/curbcut/OTEL_EXPORTER_OTLP_HEADERS' };
    expect(settingSources(render(ON), 'curbcut-api')).to.include({ OTEL_EXPORTER_OTLP_HEADERS: 'secret/collector headers' });
    const endpoint = { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector.tracing.svc:4318' };
    expect(environmentOf(ON, 'curbcut-api')).to.deep.equal([headers, endpoint]);
    expect(environmentOf(ON, 'curbcut-operator')).to.deep.equal([
      headers,
      endpoint,
      { name: 'SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://10.9.8.7:4319' },
    ]);
    const names = [...Object.keys(ApiEnvironment.properties), ...Object.keys(OperatorEnvironment.properties)];
    expect(names).to.include.members(environmentOf(ON, 'curbcut-operator').map(({ name }) => name.replace(/_FILE$/, '')));
    for (const name of ['curbcut-api', 'curbcut-operator'])
      expect(egressOf(ON, name)).to.match(/"kubernetes.io\/metadata.name":"tracing"[^[]*\[\{[^\]]*4318/);
    expect(egressOf(ON, 'curbcut-scanner')).to.match(/10\.9\.8\.7\/32[^\]]*\][^[]*\[\{[^\]]*4319/);
    expect(egressOf(ON, 'curbcut-scanner')).not.to.include('4318');
  });
});
