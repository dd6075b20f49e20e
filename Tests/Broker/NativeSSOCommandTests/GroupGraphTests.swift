import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@testable import Registry
@testable import native_sso

@Suite struct GroupGraphTests {
    private static func graph(_ format: GroupGraph.Format) -> GroupGraph {
        graph(
            [
                SharingGroup(
                    id: GroupID(validated: "vendor"), issuer: Issuer(validated: "https://idp.example.com"),
                    members: [
                        member(ClientID(validated: "mail"), .both, nil, .bearer),
                        member(ClientID(validated: "calendar"), .target, Scope(["openid", "profile"])),
                        member(ClientID(validated: "login"), .source), member(ClientID(validated: "old"), .both),
                    ]),
                SharingGroup(
                    id: GroupID(validated: "empty"), issuer: Issuer(validated: "https://other.example.com"), members: []
                ),
                SharingGroup(
                    id: GroupID(validated: "web"), issuer: Issuer(validated: "https://web.example.com"),
                    members: [
                        member(ClientID(validated: "mail"), .both, nil, .bearer),
                        member(ClientID(validated: "login"), .both),
                        member(
                            ClientID(validated: "shop"), .target, Scope(["openid"]),
                            origins: [WebOrigin(validated: "https://shop.example.com")]),
                    ]),
            ],
            [
                client("mail"), client("calendar"), client("login"), client("old", isEnabled: false),
                client("shop", .clientSecretBasic),
            ], format)
    }

    private static func graph(
        _ groups: [SharingGroup], _ clients: [Client], _ format: GroupGraph.Format
    ) -> GroupGraph {
        GroupGraph(
            registry: SharingReport.Registry(clients: clients, groups: groups, consent: .empty, suspensions: []),
            format: format)
    }

    private static func member(
        _ client: ClientID, _ role: Membership.Role, _ ceiling: Scope? = nil, _ handoff: Membership.Handoff? = nil,
        origins: [WebOrigin] = []
    ) -> SharingGroup.Member {
        SharingGroup.Member(
            client: client, role: role, scopeCeiling: ceiling, handoff: handoff, handoffOrigins: origins)
    }

    private static func client(
        _ id: String, _ authentication: Client.Authentication = .none, isEnabled: Bool = true
    ) -> Client {
        Client(
            id: ClientID(validated: id), authentication: authentication, isEnabled: isEnabled,
            allowedScope: Scope(["openid"]), defaultScope: Scope(["openid"]), audiences: ["https://api.example.com"])
    }

    @Test func mermaidShowsWhoMayUseWhoseLogin() {
        #expect(
            Self.graph(.mermaid).lines == [
                "flowchart LR",
                "  subgraph g0[\"vendor: https://idp.example.com\"]",
                "    g0c0[\"mail\"]", "    g0c1[\"calendar\"]", "    g0c2[\"login\"]", "    g0c3[\"old\"]",
                "  end",
                "  g0c0 -->|\"openid profile\"| g0c1",
                "  g0c2 --> g0c0", "  g0c2 -->|\"openid profile\"| g0c1",
                "  g0c3 --> g0c0", "  g0c3 -->|\"openid profile\"| g0c1",
                "  subgraph g1[\"empty: https://other.example.com\"]",
                "  end",
                "  subgraph g2[\"web: https://web.example.com\"]",
                "    g2c0[\"mail\"]", "    g2c1[\"login\"]", "    g2c2[\"shop\"]",
                "  end",
                "  g2c0 --> g2c1", "  g2c0 -->|\"openid; hand-off\"| g2c2",
                "  g2c1 --> g2c0", "  g2c1 -->|\"openid; no hand-off: handoff_not_allowed\"| g2c2",
            ])
    }

    @Test func dotShowsTheSame() {
        let lines = Self.graph(.dot).lines
        #expect(lines.first == "digraph sharing {" && lines.last == "}")
        #expect(lines.contains("    g0c1 [label=\"calendar\"];"))
        #expect(lines.filter { $0.contains(" -> ") }.count == 9)
        #expect(lines.contains("  g0c2 -> g0c1 [label=\"openid profile\"];"))
    }

    @Test func jsonListsTheArrows() throws {
        var json = JSONWriter()
        Self.graph(.mermaid).write(to: &json)
        let arrows = try #require(try JSONReader.parse(json.bytes).object?.array("arrows")).compactMap(\.object)
        let shown = arrows.map {
            "\($0.string("from") ?? "") to \($0.string("to") ?? ""): \($0.string("handoff_reason") ?? "permitted")"
        }
        #expect(
            shown == [
                "mail to calendar: handoff_web_app_unusable", "login to mail: handoff_web_app_unusable",
                "login to calendar: handoff_web_app_unusable", "old to mail: client_disabled",
                "old to calendar: client_disabled", "mail to login: handoff_web_app_unusable",
                "mail to shop: permitted", "login to mail: handoff_web_app_unusable",
                "login to shop: handoff_not_allowed",
            ])
        #expect(arrows.allSatisfy { $0.bool("handoff_permitted") == ($0.string("handoff_reason") == nil) })
    }

    /// `explain --from --to` says the same.
    @Test func anAppThatMayNotExchangeHandsNothingOff() {
        var mail = Self.client("mail")
        mail.grants = [.refreshToken]
        let group = SharingGroup(
            id: GroupID(validated: "g"), issuer: Issuer(validated: "https://idp.example.com"),
            members: [
                Self.member(mail.id, .source, nil, .bearer),
                Self.member(
                    ClientID(validated: "shop"), .target, origins: [WebOrigin(validated: "https://shop.example.com")]),
            ])
        let lines = Self.graph([group], [mail, Self.client("shop", .clientSecretBasic)], .mermaid).lines
        #expect(lines.last == "  g0c0 -->|\"no hand-off: grant_not_allowed\"| g0c1")
    }

    /// A client_id may hold every printable character.
    @Test(arguments: [(GroupGraph.Format.mermaid, "a#34;]#92;"), (.dot, "a\\\"]\\\\")])
    func aLabelCannotEndEarly(_ format: GroupGraph.Format, _ label: String) {
        let client = ClientID(validated: "a\"]\\")
        let group = SharingGroup(
            id: GroupID(validated: "g"), issuer: Issuer(validated: "https://idp.example.com"),
            members: [SharingGroup.Member(client: client, role: .both, scopeCeiling: nil)])
        let lines = Self.graph([group], [], format).lines
        #expect(lines.contains { $0.contains("\"\(label)\"") }, "\(lines)")
    }
}
