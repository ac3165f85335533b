// Command dns resolves the names of a cluster's Services, for the cluster of
// tools/kube/cluster:
//
//	dns -kubeconfig FILE -listen ADDRESS
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const domain = ".svc.cluster.local."

func main() {
	config := flag.String("kubeconfig", "", "kubeconfig of the API server")
	listen := flag.String("listen", "127.0.0.1:53", "address to listen on")
	flag.Parse()
	c, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := kubernetes.NewForConfig(c)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := net.ListenPacket("udp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			log.Fatal(err)
		}
		query := append([]byte(nil), buf[:n]...)
		go func() {
			if a, err := answer(cluster, query); err == nil {
				conn.WriteTo(a, from)
			}
		}()
	}
}

// answer replies to a query; a name that is not a Service's does not exist.
func answer(cluster *kubernetes.Clientset, query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	address, ok := find(cluster, strings.ToLower(q.Name.String()))
	code := dnsmessage.RCodeSuccess
	if !ok {
		code = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID:                 h.ID,
		Response:           true,
		Authoritative:      true,
		RecursionDesired:   h.RecursionDesired,
		RecursionAvailable: true,
		RCode:              code,
	})
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}
	if ok && q.Type == dnsmessage.TypeA {
		if err := b.StartAnswers(); err != nil {
			return nil, err
		}
		if err := b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 5}, dnsmessage.AResource{A: address.As4()}); err != nil {
			return nil, err
		}
	}
	return b.Finish()
}

// find returns the address of a Service by its full name.
func find(cluster *kubernetes.Clientset, name string) (netip.Addr, bool) {
	service, namespace, ok := strings.Cut(strings.TrimSuffix(name, domain), ".")
	if !ok || !strings.HasSuffix(name, domain) {
		return netip.Addr{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := cluster.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s.Spec.ClusterIP)
	return a, err == nil && a.Is4()
}
