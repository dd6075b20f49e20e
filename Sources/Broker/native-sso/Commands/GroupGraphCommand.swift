import ArgumentParser
import BrokerHTTP
import NativeSSO
import Registry
import StrictCoding

struct GroupGraphCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph", abstract: "Draw which app may use whose login.",
        discussion: """
            An arrow leads from the app that logs in to the app that may use its login, with the scope ceiling. Apps that are \
            disabled, or may not exchange, receive no arrow. An arrow to a web app says whether the app may hand its logins \
            to it, or the reason why not: see `explain --reason`. GitHub shows Mermaid; Graphviz draws DOT.
            """)

    @Option(help: "The language of the graph.") var format = GroupGraph.Format.mermaid
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> GroupGraph {
        GroupGraph(registry: try await SharingReport.Registry(registry), format: format)
    }
}

/// The sharing groups as a directed graph.
struct GroupGraph: ObjectResult {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case mermaid
        case dot
    }

    let registry: SharingReport.Registry
    let format: Format

    private struct Arrow {
        let from: SharingGroup.Member
        let to: SharingGroup.Member
        /// Why `from` may not hand its logins to `to`; `nil`: it may.
        let handoffRefusal: String?

        /// Of the hand-off it speaks only if `to` is a web app that receives logins.
        var label: String? {
            let handoff = handoffRefusal.map { "no hand-off: \($0)" } ?? "hand-off"
            let parts = [
                to.scopeCeiling?.tokens.joined(separator: " "), to.handoffOrigins.isEmpty ? nil : handoff,
            ].compactMap(\.self)
            return parts.isEmpty ? nil : parts.joined(separator: "; ")
        }
    }

    private func arrows(in group: SharingGroup) -> [Arrow] {
        let clients = Dictionary(registry.clients.map { ($0.id, $0) }) { first, _ in first }
        let isSuspended = registry.suspensions.contains { $0.issuer == group.issuer }
        return group.members.filter { $0.role != .target }.flatMap { source in
            group.members.compactMap { target in
                guard target.role != .source, target.client != source.client, let app = clients[source.client],
                    let client = clients[target.client], client.isEnabled, client.grants.contains(.tokenExchange)
                else { return nil }
                let sharing = LoginSharing(
                    of: (app, source.membership(in: group.id)), with: (client, target.membership(in: group.id)),
                    at: IssuerPolicy(issuer: group.issuer, profiles: [.deviceSecret]), profile: .deviceSecret,
                    scope: nil, scopesRequiringConsent: registry.consent, now: SystemClock().now)
                let refusal =
                    isSuspended
                    ? RequestRefusal.providerSuspended.row : SharingReport.refusalOfHandoff(by: app, sharing)
                return Arrow(from: source, to: target, handoffRefusal: refusal?.reason)
            }
        }
    }

    var lines: [String] {
        var lines = format == .mermaid ? ["flowchart LR"] : ["digraph sharing {", "  rankdir=LR;"]
        for (number, group) in registry.groups.enumerated() {
            // A client may be in a group of each identity provider.
            let names = Dictionary(
                zip(group.members.map(\.client), (0...).lazy.map { "g\(number)c\($0)" })
            ) { first, _ in first }
            let title = quoted("\(group.id): \(group.issuer)")
            lines +=
                format == .mermaid
                ? ["  subgraph g\(number)[\(title)]"] : ["  subgraph cluster_g\(number) {", "    label=\(title);"]
            for member in group.members {
                let label = quoted(member.client.string)
                lines.append(
                    "    \(names[member.client] ?? "")" + (format == .mermaid ? "[\(label)]" : " [label=\(label)];"))
            }
            lines.append(format == .mermaid ? "  end" : "  }")
            for arrow in arrows(in: group) {
                let (from, to) = (names[arrow.from.client] ?? "", names[arrow.to.client] ?? "")
                let label = arrow.label.map(quoted)
                lines.append(
                    format == .mermaid
                        ? "  \(from) -->\(label.map { "|\($0)|" } ?? "") \(to)"
                        : "  \(from) -> \(to)\(label.map { " [label=\($0)]" } ?? "");")
            }
        }
        return lines + (format == .mermaid ? [] : ["}"])
    }

    func members(to json: inout JSONWriter) {
        let all = registry.groups.flatMap { group in arrows(in: group).map { (group, $0) } }
        json.array("arrows", of: all) { item, json in
            json.member("group_id", item.0.id.string)
            json.member("issuer", item.0.issuer.string)
            json.member("from", item.1.from.client.string)
            json.member("to", item.1.to.client.string)
            Cell(item.1.to.scopeCeiling).write(as: "scope_ceiling", to: &json)
            json.member("handoff_permitted", item.1.handoffRefusal == nil)
            Cell(item.1.handoffRefusal).write(as: "handoff_reason", to: &json)
        }
    }

    /// Names are printable ASCII. They may contain the characters that end a label.
    private func quoted(_ text: String) -> String {
        switch format {
        case .mermaid:
            "\""
                + text.unicodeScalars.map { "\"#<>&`\\".unicodeScalars.contains($0) ? "#\($0.value);" : String($0) }
                .joined() + "\""
        case .dot: "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
    }
}
