import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct GroupGraphCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph", abstract: "Draw which app may use whose login.",
        discussion: """
            An arrow leads from the app that logs in to the app that may use its login, with the scope ceiling. Apps that are \
            disabled, or may not exchange, receive no arrow. GitHub shows Mermaid; Graphviz draws DOT.
            """)

    @Option(help: "The language of the graph.") var format = GroupGraph.Format.mermaid
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> GroupGraph {
        let clients = try await registry.clients().filter { $0.isEnabled && $0.grants.contains(.tokenExchange) }
        return GroupGraph(groups: try await registry.groups(), targets: Set(clients.map(\.id)), format: format)
    }
}

/// The sharing groups as a directed graph.
struct GroupGraph: ObjectResult {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case mermaid
        case dot
    }

    let groups: [SharingGroup]
    /// The clients that may exchange.
    let targets: Set<ClientID>
    let format: Format

    private typealias Arrow = (from: SharingGroup.Member, to: SharingGroup.Member)

    private func arrows(in group: SharingGroup) -> [Arrow] {
        group.members.filter { $0.role != .target }.flatMap { source in
            group.members.filter { $0.role != .source && $0.client != source.client && targets.contains($0.client) }
                .map { (source, $0) }
        }
    }

    var lines: [String] {
        var lines = format == .mermaid ? ["flowchart LR"] : ["digraph sharing {", "  rankdir=LR;"]
        for (number, group) in groups.enumerated() {
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
                let ceiling = arrow.to.scopeCeiling.map { quoted($0.tokens.joined(separator: " ")) }
                lines.append(
                    format == .mermaid
                        ? "  \(from) -->\(ceiling.map { "|\($0)|" } ?? "") \(to)"
                        : "  \(from) -> \(to)\(ceiling.map { " [label=\($0)]" } ?? "");")
            }
        }
        return lines + (format == .mermaid ? [] : ["}"])
    }

    func members(to json: inout JSONWriter) {
        json.array("arrows", of: groups.flatMap { group in arrows(in: group).map { (group, $0) } }) { item, json in
            json.member("group_id", item.0.id.string)
            json.member("issuer", item.0.issuer.string)
            json.member("from", item.1.from.client.string)
            json.member("to", item.1.to.client.string)
            Cell(item.1.to.scopeCeiling).write(as: "scope_ceiling", to: &json)
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
