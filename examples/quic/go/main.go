// SPDX-License-Identifier: GPL-2.0

// Transfer sends bytes over QUIC, with quic-go.
//
//	transfer server ADDRESS
//	transfer client ADDRESS BYTES
//
// The client prints the bytes, the seconds from its first packet to the last byte, and their ratio.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	port     = "4433"
	protocol = "transfer"
	window   = 1 << 26 // QUIC's own flow control must not limit the transfer.
)

var config = &quic.Config{
	InitialStreamReceiveWindow:     window,
	MaxStreamReceiveWindow:         window,
	InitialConnectionReceiveWindow: window,
	MaxConnectionReceiveWindow:     window,
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// certificate returns a new key with a certificate that it signs itself.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(),
		NotAfter: time.Now().AddDate(0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// answer sends as many bytes as the client asks for.
func answer(connection *quic.Conn) {
	stream, err := connection.AcceptStream(context.Background())
	check(err)
	text, err := io.ReadAll(stream)
	check(err)
	wanted, err := strconv.Atoi(string(text))
	check(err)
	_, err = stream.Write(make([]byte, wanted))
	check(err)
	check(stream.Close())
}

func server(address string) {
	listener, err := quic.ListenAddr(address, &tls.Config{
		Certificates: []tls.Certificate{certificate()}, NextProtos: []string{protocol}}, config)
	check(err)
	for {
		connection, err := listener.Accept(context.Background())
		check(err)
		go answer(connection)
	}
}

func client(address, wanted string) {
	begin := time.Now()
	connection, err := quic.DialAddr(context.Background(), address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{protocol}}, config)
	check(err)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	_, err = stream.Write([]byte(wanted))
	check(err)
	check(stream.Close())
	received, err := io.Copy(io.Discard, stream)
	check(err)
	seconds := time.Since(begin).Seconds()
	if fmt.Sprint(received) != wanted {
		log.Fatalf("%d bytes of %s", received, wanted)
	}
	fmt.Printf("%d bytes in %.6f s: %.3f Mb/s\n", received, seconds,
		float64(received)*8/seconds/1e6)
	check(connection.CloseWithError(0, ""))
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: transfer server ADDRESS | client ADDRESS BYTES")
	}
	address := net.JoinHostPort(os.Args[2], port)
	if os.Args[1] == "server" {
		server(address)
	} else {
		client(address, os.Args[3])
	}
}
