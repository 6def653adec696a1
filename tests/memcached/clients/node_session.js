// SPDX-License-Identifier: Apache-2.0
// usage: node node_session.js HOST:PORT. What npm's memcached (text) and memjs (binary protocol) ask a server, with what it must
// give back.
'use strict';

const assert = require('node:assert');
const { promisify } = require('node:util');
const Memcached = require('memcached');
const { Client } = require('memjs');

const WAIT_S = 60;

function promised(client, call, ...values) {
  return promisify(client[call]).apply(client, values);
}

async function fails(promise) {
  await assert.rejects(async () => {
    if (await promise === false) throw new Error('refused');
  });
}

async function text(address) {
  const client = new Memcached(address, { timeout: WAIT_S * 1000, retries: 0 });
  const ask = (call, ...values) => promised(client, call, ...values);
  assert.strictEqual(await ask('set', 'k', 'v', 0), true);
  assert.strictEqual(await ask('get', 'k'), 'v');
  assert.strictEqual(await ask('get', 'none'), undefined);
  await fails(ask('add', 'k', 'x', 0));
  assert.strictEqual(await ask('add', 'k2', 'w', 100), true);
  assert.strictEqual(await ask('replace', 'k2', { a: 1 }, 0), true);
  assert.deepStrictEqual(await ask('get', 'k2'), { a: 1 });
  assert.strictEqual(await ask('append', 'k', '+'), true);
  assert.strictEqual(await ask('prepend', 'k', '-'), true);
  assert.strictEqual(await ask('get', 'k'), '-v+');
  const large = Buffer.alloc(700000, 'abc');
  assert.strictEqual(await ask('set', 'large', large, 0), true);
  assert.ok(large.equals(await ask('get', 'large')));
  const keys = Array.from({ length: 200 }, (_, i) => `m${i}`);
  await Promise.all(keys.map((key) => ask('set', key, `value of ${key}`, 0)));
  const many = await ask('getMulti', [...keys, 'absent']);
  assert.strictEqual(Object.keys(many).length, keys.length);
  keys.forEach((key) => assert.strictEqual(many[key], `value of ${key}`));
  assert.strictEqual(await ask('set', 'n', 10, 0), true);
  assert.strictEqual(await ask('incr', 'n', 5), 15);
  assert.strictEqual(await ask('decr', 'n', 20), 0);
  assert.strictEqual(await ask('touch', 'n', 100), true);
  const { cas } = await ask('gets', 'k');
  assert.strictEqual(await ask('cas', 'k', 'new', cas, 0), true);
  await fails(ask('cas', 'k', 'newer', cas, 0));
  assert.strictEqual(await ask('del', 'k'), true);
  await fails(ask('del', 'k'));
  const [stats] = await ask('stats');
  assert.ok(stats.version && stats.curr_items > 0);
  assert.strictEqual((await ask('flush'))[0], true);
  client.end();
}

async function binary(address) {
  const client = Client.create(address, { timeout: WAIT_S, conntimeout: WAIT_S, retries: 1 });
  assert.strictEqual(await client.set('k', 'v', {}), true);
  assert.strictEqual((await client.get('k')).value.toString(), 'v');
  assert.strictEqual((await client.get('none')).value, null);
  assert.strictEqual(await client.add('k', 'x', {}), false);
  assert.strictEqual(await client.add('k2', 'w', { expires: 100 }), true);
  assert.strictEqual(await client.replace('k2', 'r', {}), true);
  assert.strictEqual(await client.replace('k3', 'r', {}), false);
  assert.strictEqual(await client.append('k', '+'), true);
  assert.strictEqual(await client.prepend('k', '-'), true); // memjs 1.3.2 sends the code of append
  assert.strictEqual((await client.get('k')).value.toString(), 'v+-');
  const large = Buffer.alloc(700000, 'abc');
  assert.strictEqual(await client.set('large', large, {}), true);
  assert.ok(large.equals((await client.get('large')).value));
  assert.strictEqual((await client.increment('n', 5, { initial: 10 })).value, 10);
  assert.strictEqual((await client.increment('n', 5, {})).value, 15);
  assert.strictEqual((await client.decrement('n', 20, {})).value, 0);
  assert.strictEqual(await client.touch('k', 100), true);
  assert.strictEqual(await client.delete('k'), true);
  assert.strictEqual(await client.delete('k'), false);
  await client.flush();
  client.close();
}

text(process.argv[2]).then(() => binary(process.argv[2])).then(() => console.log('all steps passed'), (error) => {
  console.error(error);
  process.exit(1);
});
