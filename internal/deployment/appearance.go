package deployment

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const appearanceSetting = "appearance"

// Limits of texts on all pages.
const (
	maxBanners         = 10
	maxBannerMessage   = 3000 // characters
	maxApplicationName = 64
	maxLogoURL         = 2048
)

// Appearance returns the appearance of the site. Every user can read it.
func (s *Service) Appearance(ctx context.Context) (codersdk.AppearanceConfig, error) {
	var set codersdk.UpdateAppearanceConfig
	if err := Get(ctx, s.c.Store.Queries, appearanceSetting, &set); err != nil {
		return codersdk.AppearanceConfig{}, err
	}
	out := codersdk.AppearanceConfig{
		ApplicationName: set.ApplicationName, LogoURL: set.LogoURL, AnnouncementBanners: set.AnnouncementBanners,
		DocsURL: s.c.DocsURL, SupportLinks: s.c.SupportLinks,
	}
	if out.AnnouncementBanners == nil {
		out.AnnouncementBanners = []codersdk.BannerConfig{}
	}
	for _, b := range out.AnnouncementBanners {
		if b.Enabled {
			out.ServiceBanner = b
			break
		}
	}
	return out, nil
}

// SetAppearance sets the appearance of the site.
func (s *Service) SetAppearance(ctx context.Context, actor access.Subject, in codersdk.UpdateAppearanceConfig) (codersdk.UpdateAppearanceConfig, error) {
	var out codersdk.UpdateAppearanceConfig
	if err := Check(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceDeploymentConfig); err != nil {
		return out, err
	}
	if len(in.AnnouncementBanners) == 0 && in.ServiceBanner != (codersdk.BannerConfig{}) {
		in.AnnouncementBanners = []codersdk.BannerConfig{in.ServiceBanner}
	}
	if in.AnnouncementBanners == nil {
		in.AnnouncementBanners = []codersdk.BannerConfig{}
	}
	in.ServiceBanner = codersdk.BannerConfig{}
	if len(in.AnnouncementBanners) > 0 {
		in.ServiceBanner = in.AnnouncementBanners[0]
	}
	if err := checkAppearance(in); err != nil {
		return out, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old := codersdk.UpdateAppearanceConfig{AnnouncementBanners: []codersdk.BannerConfig{}}
		if err := GetForUpdate(ctx, q, appearanceSetting, &old); err != nil {
			return err
		}
		diff := codersdk.AuditDiff{}
		if old.ApplicationName != in.ApplicationName {
			diff["application_name"] = codersdk.AuditDiffField{Old: old.ApplicationName, New: in.ApplicationName}
		}
		if old.LogoURL != in.LogoURL {
			diff["logo_url"] = codersdk.AuditDiffField{Old: old.LogoURL, New: in.LogoURL}
		}
		if fmt.Sprint(old.AnnouncementBanners) != fmt.Sprint(in.AnnouncementBanners) {
			diff["announcement_banners"] = codersdk.AuditDiffField{Old: old.AnnouncementBanners, New: in.AnnouncementBanners}
		}
		if len(diff) == 0 {
			return nil
		}
		if err := Put(ctx, q, appearanceSetting, in, s.c.Now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeAppearance, ResourceID: uuid.Nil, Target: "appearance", Diff: diff,
		})
	})
	return in, err
}

var color = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func checkAppearance(in codersdk.UpdateAppearanceConfig) error {
	if n := len([]rune(in.ApplicationName)); n > maxApplicationName {
		return codersdk.Invalid("application_name", "must be at most %d characters, got %d", maxApplicationName, n)
	}
	if strings.ContainsFunc(in.ApplicationName, func(r rune) bool { return r < ' ' }) {
		return codersdk.Invalid("application_name", "must not contain line breaks or other control characters")
	}
	if err := checkLogo(in.LogoURL); err != nil {
		return err
	}
	if len(in.AnnouncementBanners) > maxBanners {
		return codersdk.Invalid("announcement_banners", "at most %d banners are allowed, got %d", maxBanners, len(in.AnnouncementBanners))
	}
	for i, b := range in.AnnouncementBanners {
		field := fmt.Sprintf("announcement_banners[%d]", i)
		if n := len([]rune(b.Message)); n > maxBannerMessage {
			return codersdk.Invalid(field+".message", "must be at most %d characters, got %d", maxBannerMessage, n)
		}
		if strings.ContainsRune(b.Message, 0) {
			return codersdk.Invalid(field+".message", "must not contain NUL characters")
		}
		if b.BackgroundColor != "" && !color.MatchString(b.BackgroundColor) {
			return codersdk.Invalid(field+".background_color", "must be like #aabbcc, got %q", b.BackgroundColor)
		}
	}
	return nil
}

// checkLogo checks the URL of an image on the web, or a path of this server.
func checkLogo(logo string) error {
	if logo == "" {
		return nil
	}
	u, err := url.Parse(logo)
	web := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	own := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
	if len(logo) > maxLogoURL || !web && !own {
		return codersdk.Invalid(
			"logo_url",
			"must be the URL of an image, such as https://example.com/logo.svg, or a path of this server, of at most %d bytes",
			maxLogoURL,
		)
	}
	return nil
}
