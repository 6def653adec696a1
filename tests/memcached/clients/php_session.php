<?php
// SPDX-License-Identifier: Apache-2.0
// usage: php_session.php SETTING PORT... What php-memcached asks servers of loopback, with all that they answer. Run with each of
// two libmemcached it has to print the same.
$setting = $argv[1];
$client = new Memcached();
$binary = str_contains($setting, 'binary');
foreach (array_slice($argv, 2) as $port)
    $client->addServer('127.0.0.1', (int)$port, str_contains($setting, 'weights') ? (int)$port % 3 + 1 : 0);
if ($binary)
    $client->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
if (str_contains($setting, 'ketama'))
    $client->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
if (str_contains($setting, 'prefix'))
    $client->setOption(Memcached::OPT_PREFIX_KEY, 'prefix.');

function show($what, $value)
{
    global $client;
    if (is_string($value) && strlen($value) > 60)
        $value = md5($value);
    echo $what, ': ', json_encode($value), ' ', $client->getResultCode(), ' ', $client->getResultMessage(), "\n";
}

show('flush', $client->flush());
show('set', $client->set('k', 'value', 100));
show('get', $client->get('k'));
show('get none', $client->get('none'));
show('empty', $client->set('empty', ''));
show('get empty', $client->get('empty'));
foreach ([1, 1.5, true, null, ['a' => [1, 2]], str_repeat('long text ', 30000)] as $i => $value) {
    show("set $i", $client->set("typed$i", $value));
    show("get $i", $client->get("typed$i"));
}
show('add', $client->add('k', 'x'));
show('add new', $client->add('new', 'x'));
show('replace', $client->replace('new', 'y'));
show('replace none', $client->replace('none', 'y'));
$client->setOption(Memcached::OPT_COMPRESSION, false);
show('append', $client->append('new', '+'));
show('append none', $client->append('none', '+'));
show('prepend', $client->prepend('new', '-'));
show('get', $client->get('new'));
show('touch', $client->touch('new', 100));
show('touch none', $client->touch('none', 100));
show('delete', $client->delete('new'));
show('delete none', $client->delete('new'));
show('n', $client->set('n', 10));
show('increment', $client->increment('n', 5));
show('decrement', $client->decrement('n', 50));
show('increment none', $client->increment('none'));
show('increment initial', $client->increment('initial', 1, 7));
show('setMulti', $client->setMulti(array_combine(array_map(fn($i) => "m$i", range(1, 100)), range(1, 100)), 60));
$found = $client->getMulti(array_map(fn($i) => "m$i", range(1, 150)), Memcached::GET_PRESERVE_ORDER);
show('getMulti', array_filter($found, fn($v) => $v !== null));
$found = $client->getMulti(['m1', 'm2', 'none'], Memcached::GET_EXTENDED);
ksort($found);
show('getMulti extended', array_map(fn($item) => [$item['value'], is_int($item['cas']), $item['flags']], $found));
show('deleteMulti', $client->deleteMulti(['m1', 'm2', 'none']));
show('blank', $client->set('with blank', 'v'));
show('blank', $client->get('with blank'));
show('setByKey', $client->setByKey('group', 'grouped', 'v'));
show('getByKey', $client->getByKey('group', 'grouped'));
show('deleteByKey', $client->deleteByKey('group', 'grouped'));
$extended = $client->get('k', null, Memcached::GET_EXTENDED);
show('extended', [$extended['value'], $extended['flags'], $extended['cas'] > 0]);
show('cas', $client->cas($extended['cas'], 'k', 'compared'));
show('cas old', $client->cas($extended['cas'], 'k', 'again'));
show('get', $client->get('k'));
show('read through', $client->get('through', function ($client, $key, &$value) {
    $value = "made for $key";
    return true;
}));
show('get', $client->get('through'));
show('delayed', $client->getDelayed(['m3', 'm4', 'none'], true));
$all = $client->fetchAll();
usort($all, fn($a, $b) => strcmp($a['key'], $b['key']));
show('fetchAll', array_map(fn($item) => [$item['key'], $item['value']], $all));
show('servers', $client->getServerList());
show('server of a key', $client->getServerByKey('k'));
show('version', count($client->getVersion()));
show('stats', array_map(fn($stats) => $stats['limit_maxbytes'] ?? $stats, array_values($client->getStats())));
foreach (['OPT_HASH', 'OPT_DISTRIBUTION', 'OPT_POLL_TIMEOUT', 'OPT_CONNECT_TIMEOUT', 'OPT_PREFIX_KEY', 'OPT_NO_BLOCK'] as $name)
    show($name, $client->getOption(constant("Memcached::$name")));
show('long key', $client->set(str_repeat('x', 251), 'v'));
$other = new Memcached('persistent');
$other->addServer('127.0.0.1', (int)$argv[2]);
show('other', $other->set('o', 'v'));
show('quit', $client->quit());
show('get', $client->get('k'));
