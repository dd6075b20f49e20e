import Testing

@testable import NativeSSO

/// Whether an app may hand its logins to a web app, as `explain` and `group graph` tell operators.
@Suite struct LoginSharingHandoffTests {
    private struct Setting: Sendable {
        var app = Client(
            id: ClientID(validated: "app-one"), allowedScope: Scope(["openid"]), defaultScope: .empty,
            audiences: ["https://api.example.com"])
        var appMember: Membership? = member(.both, handoff: .bearer)
        var web = Client(
            id: ClientID(validated: "web-shop"), authentication: .clientSecretBasic, allowedScope: Scope(["openid"]),
            defaultScope: Scope(["openid"]), audiences: ["https://api.example.com"])
        var webMember: Membership? = member(.target, origins: origins)

        static let origins = [WebOrigin(validated: "https://web.example.com")]

        static func member(
            _ role: Membership.Role, _ group: String = "vendor", handoff: Membership.Handoff? = nil,
            origins: [WebOrigin] = []
        ) -> Membership {
            Membership(group: GroupID(validated: group), role: role, handoff: handoff, handoffOrigins: origins)
        }

        var refusal: HandoffFailure? {
            LoginSharing(
                of: (app, appMember), with: (web, webMember),
                at: IssuerPolicy(issuer: Issuer(validated: "https://idp.example.com"), profiles: [.deviceSecret]),
                profile: .deviceSecret, scope: nil, scopesRequiringConsent: .empty, now: UnixTime(seconds: 1000)
            ).handoffRefusal
        }
    }

    @Test func theGoodCase() {
        // Neither the permission to exchange its own login nor a default scope: the app gets no tokens.
        #expect(Setting().refusal == nil)
    }

    private static let changes: [(HandoffRefusal, @Sendable (inout Setting) -> Void)] = [
        (.webAppUnusable, { $0.web.authentication = .none }),
        (.webAppUnusable, { $0.web.isEnabled = false }),
        (.webAppUnusable, { $0.web.grants = [.refreshToken] }),
        (.notAllowed, { $0.appMember = Setting.member(.both) }),
        (.boundApp, { $0.app.proofPolicy = .required }),
        (.originNotRegistered, { $0.webMember = Setting.member(.target) }),
        (.webAppOutsideGroup, { $0.webMember = Setting.member(.source, origins: Setting.origins) }),
        (.webAppOutsideGroup, { $0.webMember = Setting.member(.target, "other", origins: Setting.origins) }),
    ]

    @Test(arguments: changes.indices) func eachRule(_ index: Int) {
        let (refusal, change) = Self.changes[index]
        var setting = Setting()
        change(&setting)
        #expect(setting.refusal == .handoff(refusal))
    }

    /// The app uses its login for the web app, so it must be a target, too.
    @Test func theAppsOwnUse() {
        var setting = Setting()
        setting.appMember = Setting.member(.source, handoff: .bearer)
        guard case .exchange(.directionForbidden, by: let client) = setting.refusal else {
            Issue.record("\(String(describing: setting.refusal))")
            return
        }
        #expect(client.id == setting.app.id)
        setting.appMember = Setting.member(.both, handoff: .dpop)
        setting.app.proofPolicy = .required
        #expect(setting.refusal == nil)
    }
}
