// SPDX-License-Identifier: GPL-2.0

// Print the kind and the sent packets of each qdisc, one a line, as a monitor reads them.
package main

import (
	"fmt"
	"log"

	"github.com/florianl/go-tc"
)

func main() {
	rtnl, err := tc.Open(&tc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer rtnl.Close()
	qdiscs, err := rtnl.Qdisc().Get()
	if err != nil {
		log.Fatal(err)
	}
	for _, qdisc := range qdiscs {
		if qdisc.Stats != nil {
			fmt.Println(qdisc.Kind, qdisc.Stats.Packets)
		}
	}
}
