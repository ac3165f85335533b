package deployment

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const appearanceSetting = "appearance"

// Bounds of what people can write on everybody's pages.
const (
	maxBanners         = 10
	maxBannerMessage   = 3000 // characters
	maxApplicationName = 64
	maxLogoURL         = 2048
)

// Appearance gives how the site presents itself, to anybody.
func (s *Service) Appearance(ctx context.Context) (coder.AppearanceConfig, error) {
	var set coder.UpdateAppearanceConfig
	if err := Get(ctx, s.c.Store.Queries, appearanceSetting, &set); err != nil {
		return coder.AppearanceConfig{}, err
	}
	out := coder.AppearanceConfig{
		ApplicationName: set.ApplicationName, LogoURL: set.LogoURL, AnnouncementBanners: set.AnnouncementBanners,
		DocsURL: s.c.DocsURL, SupportLinks: s.c.SupportLinks,
	}
	if out.AnnouncementBanners == nil {
		out.AnnouncementBanners = []coder.BannerConfig{}
	}
	for _, b := range out.AnnouncementBanners {
		if b.Enabled {
			out.ServiceBanner = b
			break
		}
	}
	return out, nil
}

// SetAppearance changes it.
func (s *Service) SetAppearance(ctx context.Context, actor access.Subject, in coder.UpdateAppearanceConfig) (coder.UpdateAppearanceConfig, error) {
	var out coder.UpdateAppearanceConfig
	if err := Check(actor, coder.RBACActionUpdate, coder.RBACResourceDeploymentConfig); err != nil {
		return out, err
	}
	if len(in.AnnouncementBanners) == 0 && in.ServiceBanner != (coder.BannerConfig{}) {
		in.AnnouncementBanners = []coder.BannerConfig{in.ServiceBanner}
	}
	if in.AnnouncementBanners == nil {
		in.AnnouncementBanners = []coder.BannerConfig{}
	}
	in.ServiceBanner = coder.BannerConfig{}
	if len(in.AnnouncementBanners) > 0 {
		in.ServiceBanner = in.AnnouncementBanners[0]
	}
	if err := checkAppearance(in); err != nil {
		return out, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old := coder.UpdateAppearanceConfig{AnnouncementBanners: []coder.BannerConfig{}}
		if err := GetForUpdate(ctx, q, appearanceSetting, &old); err != nil {
			return err
		}
		diff := coder.AuditDiff{}
		if old.ApplicationName != in.ApplicationName {
			diff["application_name"] = coder.AuditDiffField{Old: old.ApplicationName, New: in.ApplicationName}
		}
		if old.LogoURL != in.LogoURL {
			diff["logo_url"] = coder.AuditDiffField{Old: old.LogoURL, New: in.LogoURL}
		}
		if fmt.Sprint(old.AnnouncementBanners) != fmt.Sprint(in.AnnouncementBanners) {
			diff["announcement_banners"] = coder.AuditDiffField{Old: old.AnnouncementBanners, New: in.AnnouncementBanners}
		}
		if len(diff) == 0 {
			return nil
		}
		if err := Put(ctx, q, appearanceSetting, in, s.c.Now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeAppearance, ResourceID: uuid.Nil, Target: "appearance", Diff: diff,
		})
	})
	return in, err
}

var color = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func checkAppearance(in coder.UpdateAppearanceConfig) error {
	if n := len([]rune(in.ApplicationName)); n > maxApplicationName {
		return coder.Invalid("application_name", "at most %d characters, got %d", maxApplicationName, n)
	}
	if strings.ContainsFunc(in.ApplicationName, func(r rune) bool { return r < ' ' }) {
		return coder.Invalid("application_name", "no line breaks or other control characters")
	}
	if err := checkLogo(in.LogoURL); err != nil {
		return err
	}
	if len(in.AnnouncementBanners) > maxBanners {
		return coder.Invalid("announcement_banners", "at most %d banners, got %d", maxBanners, len(in.AnnouncementBanners))
	}
	for i, b := range in.AnnouncementBanners {
		field := fmt.Sprintf("announcement_banners[%d]", i)
		if n := len([]rune(b.Message)); n > maxBannerMessage {
			return coder.Invalid(field+".message", "at most %d characters, got %d", maxBannerMessage, n)
		}
		if strings.ContainsRune(b.Message, 0) {
			return coder.Invalid(field+".message", "no NUL characters")
		}
		if b.BackgroundColor != "" && !color.MatchString(b.BackgroundColor) {
			return coder.Invalid(field+".background_color", "must be like #aabbcc, got %q", b.BackgroundColor)
		}
	}
	return nil
}

// checkLogo takes a URL that browsers load as an image: of the web, or a path
// of this server.
func checkLogo(logo string) error {
	if logo == "" {
		return nil
	}
	u, err := url.Parse(logo)
	web := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	own := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
	if len(logo) > maxLogoURL || !web && !own {
		return coder.Invalid("logo_url", "must be the URL of an image, such as https://example.com/logo.svg, or a path of this server, of at most %d bytes", maxLogoURL)
	}
	return nil
}
