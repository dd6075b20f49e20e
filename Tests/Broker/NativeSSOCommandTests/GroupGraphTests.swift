import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@testable import Registry
@testable import native_sso

@Suite struct GroupGraphTests {
    private static func graph(_ format: GroupGraph.Format) -> GroupGraph {
        func member(_ client: ClientID, _ role: Membership.Role, _ ceiling: Scope? = nil) -> SharingGroup.Member {
            SharingGroup.Member(client: client, role: role, scopeCeiling: ceiling)
        }
        return GroupGraph(
            groups: [
                SharingGroup(
                    id: GroupID(validated: "vendor"), issuer: Issuer(validated: "https://idp.example.com"),
                    members: [
                        member(ClientID(validated: "mail"), .both),
                        member(ClientID(validated: "calendar"), .target, Scope(["openid", "profile"])),
                        member(ClientID(validated: "login"), .source), member(ClientID(validated: "old"), .both),
                    ]),
                SharingGroup(
                    id: GroupID(validated: "empty"), issuer: Issuer(validated: "https://other.example.com"), members: []
                ),
            ], targets: [ClientID(validated: "mail"), ClientID(validated: "calendar"), ClientID(validated: "login")],
            format: format)
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
            ])
    }

    @Test func dotShowsTheSame() {
        let lines = Self.graph(.dot).lines
        #expect(lines.first == "digraph sharing {" && lines.last == "}")
        #expect(lines.contains("    g0c1 [label=\"calendar\"];"))
        #expect(lines.filter { $0.contains(" -> ") }.count == 5)
        #expect(lines.contains("  g0c2 -> g0c1 [label=\"openid profile\"];"))
    }

    @Test func jsonListsTheArrows() throws {
        var json = JSONWriter()
        Self.graph(.mermaid).write(to: &json)
        let arrows = try #require(try JSONReader.parse(json.bytes).object?.array("arrows")).compactMap(\.object)
        #expect(arrows.map { $0.string("from") } == ["mail", "login", "login", "old", "old"])
        #expect(arrows.map { $0.string("to") } == ["calendar", "mail", "calendar", "mail", "calendar"])
    }

    /// A client_id may hold every printable character.
    @Test(arguments: [(GroupGraph.Format.mermaid, "a#34;]#92;"), (.dot, "a\\\"]\\\\")])
    func aLabelCannotEndEarly(_ format: GroupGraph.Format, _ label: String) {
        let client = ClientID(validated: "a\"]\\")
        let group = SharingGroup(
            id: GroupID(validated: "g"), issuer: Issuer(validated: "https://idp.example.com"),
            members: [SharingGroup.Member(client: client, role: .both, scopeCeiling: nil)])
        let lines = GroupGraph(groups: [group], targets: [client], format: format).lines
        #expect(lines.contains { $0.contains("\"\(label)\"") }, "\(lines)")
    }
}
