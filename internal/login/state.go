package login

import (
	"crypto/rand"
	"crypto/subtle"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
)

// StateLifetime is the time that a sign-in can take.
const StateLifetime = 10 * time.Minute

// state holds the data of a sign-in between its start and its end, in a cookie of the browser.
type state struct {
	By         codersdk.LoginType `json:"by"`
	State      string             `json:"state"`
	Nonce      string             `json:"nonce"`
	Verifier   string             `json:"verifier"` // the PKCE verifier
	Redirect   string             `json:"redirect"`
	Conversion string             `json:"conversion,omitempty"`
	Ends       time.Time          `json:"ends"`
}

func newState(by codersdk.LoginType, redirect, conversion string, now time.Time) state {
	return state{
		By: by, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Redirect: redirect, Conversion: conversion, Ends: now.Add(StateLifetime),
	}
}

// sealer encrypts and authenticates states with a key of this deployment.
type sealer struct{ *oauthclient.Sealer }

func newSealer(secret []byte) (*sealer, error) {
	s, err := oauthclient.NewSealer(secret, "states of logins")
	if err != nil {
		return nil, err
	}
	return &sealer{s}, nil
}

func (s *sealer) seal(st state) (string, error) { return s.Seal(st, string(st.By)) }

// open returns the state in a cookie if it belongs to the sign-in with that answer.
func (s *sealer) open(cookie string, by codersdk.LoginType, answered string, now time.Time) (state, error) {
	var st state
	if !s.Open(cookie, string(by), &st) || subtle.ConstantTimeCompare([]byte(st.State), []byte(answered)) != 1 || !now.Before(st.Ends) {
		return state{}, codersdk.Errorf(codersdk.CodeForbidden, "This sign-in was not started in this browser, has expired, or has already finished. Start it again.")
	}
	return st, nil
}
