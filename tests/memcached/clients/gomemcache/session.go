// SPDX-License-Identifier: Apache-2.0

// usage: session HOST:PORT. What gomemcache asks a server, with what it must give back.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const wait = time.Minute

func check(what string, good bool, err error) {
	if !good || err != nil {
		fmt.Printf("%s: good %v, error %v\n", what, good, err)
		os.Exit(1)
	}
}

// fails checks that a call ended with this error.
func fails(what string, got, wanted error) {
	check(fmt.Sprintf("%s: got %v, wanted %v", what, got, wanted), errors.Is(got, wanted), nil)
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

func is(client *memcache.Client, key, wanted string) {
	got, err := client.Get(key)
	check("get "+key, err == nil && string(got.Value) == wanted, err)
}

func storage(client *memcache.Client) {
	check("set", true, client.Set(item("k", "v")))
	is(client, "k", "v")
	_, err := client.Get("none")
	fails("get of nothing", err, memcache.ErrCacheMiss)
	fails("add of what is there", client.Add(item("k", "x")), memcache.ErrNotStored)
	check("add", true, client.Add(&memcache.Item{Key: "k2", Value: []byte("w"), Flags: 7, Expiration: 100}))
	got, err := client.Get("k2")
	check("flags", err == nil && got.Flags == 7, err)
	check("replace", true, client.Replace(item("k2", "r")))
	fails("replace of nothing", client.Replace(item("k3", "r")), memcache.ErrNotStored)
	check("append", true, client.Append(item("k", "+")))
	check("prepend", true, client.Prepend(item("k", "-")))
	is(client, "k", "-v+")
	large := bytes.Repeat([]byte("abc"), 300000)
	check("set of a large value", true, client.Set(&memcache.Item{Key: "large", Value: large}))
	got, err = client.Get("large")
	check("get of a large value", err == nil && bytes.Equal(got.Value, large), err)
}

func many(client *memcache.Client) {
	keys := []string{"absent"}
	for i := 0; i < 300; i++ {
		keys = append(keys, fmt.Sprint("m", i))
		check("set", true, client.Set(item(keys[i+1], keys[i+1])))
	}
	found, err := client.GetMulti(keys)
	check("number of items", len(found) == 300, err)
	for key, got := range found {
		check("value of "+key, string(got.Value) == key, nil)
	}
}

func rest(client *memcache.Client) {
	check("set", true, client.Set(item("n", "10")))
	number, err := client.Increment("n", 5)
	check("increment", number == 15, err)
	number, err = client.Decrement("n", 20)
	check("decrement", number == 0, err)
	check("touch", true, client.Touch("n", 100))
	fails("touch of nothing", client.Touch("none", 100), memcache.ErrCacheMiss)
	got, err := client.Get("k")
	check("get", err == nil, err)
	got.Value = []byte("new")
	check("compare and swap", true, client.CompareAndSwap(got))
	fails("swap of what has changed", client.CompareAndSwap(got), memcache.ErrCASConflict)
	check("delete", true, client.Delete("k"))
	fails("delete of nothing", client.Delete("k"), memcache.ErrCacheMiss)
	check("ping", true, client.Ping())
	check("flush", true, client.FlushAll())
}

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = wait
	storage(client)
	many(client)
	rest(client)
	fmt.Println("all steps passed")
}
