// Command netpol enforces the NetworkPolicies of a cluster whose pods are on one
// bridge, for the cluster of tools/kube/cluster:
//
//	netpol -kubeconfig FILE
//
// Every second it reads policies, pods and namespaces, and loads a table of nftables
// that drops what no policy admits. It requires nft on PATH and a kernel that filters
// bridged packets. Ports have a number or a name and no end; the protocol SCTP and
// exceptions of address blocks are not supported.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := flag.String("kubeconfig", "", "kubeconfig of the API server")
	flag.Parse()
	c, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		log.Fatal(err)
	}
	loaded := ""
	for range time.Tick(time.Second) {
		s, err := read(client)
		if err != nil {
			log.Print(err)
			continue
		}
		if rules := s.rules(); rules != loaded {
			cmd := exec.Command("nft", "-f", "-")
			cmd.Stdin = strings.NewReader(rules)
			if out, err := cmd.CombinedOutput(); err != nil {
				log.Printf("load the rules: %v: %s\n%s", err, out, rules)
				continue
			}
			log.Print(rules)
			loaded = rules
		}
	}
}

// state is what policies depend on.
type state struct {
	policies   []networkingv1.NetworkPolicy
	pods       []corev1.Pod
	namespaces map[string]labels.Set
}

// read returns the state of the cluster. Pods without an address, or with that of
// their node, are left out.
func read(c *kubernetes.Clientset) (state, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s := state{namespaces: map[string]labels.Set{}}
	policies, err := c.NetworkingV1().NetworkPolicies("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("list policies: %w", err)
	}
	s.policies = policies.Items
	pods, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("list pods: %w", err)
	}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && !p.Spec.HostNetwork && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			s.pods = append(s.pods, p)
		}
	}
	namespaces, err := c.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("list namespaces: %w", err)
	}
	for _, n := range namespaces.Items {
		s.namespaces[n.Name] = n.Labels
	}
	return s, nil
}

// rules returns the script for nft that replaces the table.
func (s state) rules() string {
	accept := map[string][]string{} // by the match of a pod that policies select
	for _, policy := range s.policies {
		for _, pod := range s.pods {
			if pod.Namespace != policy.Namespace || !matches(&policy.Spec.PodSelector, pod.Labels) {
				continue
			}
			if slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
				match := "ip daddr " + pod.Status.PodIP
				accept[match] = append(accept[match], "")
				for _, rule := range policy.Spec.Ingress {
					accept[match] = append(accept[match], s.admitted(policy.Namespace, "ip saddr ", rule.From, rule.Ports, &pod)...)
				}
			}
			if slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
				match := "ip saddr " + pod.Status.PodIP
				accept[match] = append(accept[match], "")
				for _, rule := range policy.Spec.Egress {
					accept[match] = append(accept[match], s.admitted(policy.Namespace, "ip daddr ", rule.To, rule.Ports, nil)...)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("table inet netpol\ndelete table inet netpol\ntable inet netpol {\n chain forward {\n  type filter hook forward priority 10;\n  ct state established,related accept\n")
	for i, match := range slices.Sorted(maps.Keys(accept)) {
		fmt.Fprintf(&b, "  %s jump pod%d\n", match, i)
	}
	b.WriteString(" }\n")
	for i, match := range slices.Sorted(maps.Keys(accept)) {
		fmt.Fprintf(&b, " chain pod%d {\n", i)
		for _, a := range accept[match] {
			if a != "" {
				fmt.Fprintf(&b, "  %s\n", a)
			}
		}
		b.WriteString("  drop\n }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// admitted returns the matches of a rule's packets, by their far side and port.
// pod has the ports that the rule names; nil means those of any pod.
func (s state) admitted(namespace, side string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, pod *corev1.Pod) []string {
	far := []string{""}
	if len(peers) > 0 {
		far = nil
		for _, peer := range peers {
			for _, address := range s.addresses(namespace, peer) {
				far = append(far, side+address+" ")
			}
		}
	}
	var out []string
	for _, f := range far {
		if len(ports) == 0 {
			out = append(out, f+"return")
		}
		for _, p := range ports {
			protocol := "tcp"
			if p.Protocol != nil {
				protocol = strings.ToLower(string(*p.Protocol))
			}
			switch {
			case p.Port == nil:
				out = append(out, fmt.Sprintf("%smeta l4proto %s return", f, protocol))
			case p.Port.Type == intstr.Int:
				out = append(out, fmt.Sprintf("%s%s dport %d return", f, protocol, p.Port.IntVal))
			case pod != nil:
				for _, c := range pod.Spec.Containers {
					for _, named := range c.Ports {
						if named.Name == p.Port.StrVal {
							out = append(out, fmt.Sprintf("%s%s dport %d return", f, protocol, named.ContainerPort))
						}
					}
				}
			}
		}
	}
	return out
}

// addresses returns the addresses of a peer.
func (s state) addresses(namespace string, peer networkingv1.NetworkPolicyPeer) []string {
	if peer.IPBlock != nil {
		return []string{peer.IPBlock.CIDR}
	}
	var out []string
	for _, pod := range s.pods {
		in := pod.Namespace == namespace
		if peer.NamespaceSelector != nil {
			in = matches(peer.NamespaceSelector, s.namespaces[pod.Namespace])
		}
		if in && (peer.PodSelector == nil || matches(peer.PodSelector, pod.Labels)) {
			out = append(out, pod.Status.PodIP)
		}
	}
	return out
}

func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(set)
}
