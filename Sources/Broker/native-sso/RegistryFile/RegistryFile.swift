import Glibc
import NativeSSO
import Registry
import RegularFiles
import YAML

/// Clients, groups and scopes as a file describes them. What the file does not mention stays as it is.
struct RegistryFile {
    struct DeclaredGroup {
        let id: GroupID
        let issuer: Issuer
        let place: Place
        let members: [DeclaredMember]
    }

    struct DeclaredMember {
        let client: ClientID
        let role: Membership.Role
        let settings: SharingGroup.MemberChange
        let place: Place
    }

    struct DeclaredScope {
        let name: String
        /// `nil`: it stays as it is.
        let requiresConsent: Bool?
        let place: Place
    }

    /// The name under which the registry remembers what this file manages.
    let name: String
    let clients: [DeclaredClient]
    let groups: [DeclaredGroup]
    let scopes: [DeclaredScope]
    /// Rules that need the registry report here too.
    let problems: Problems
    let path: String

    /// The longest file accepted, in octets: about 50,000 clients.
    static let limit = 32 << 20

    /// - Throws: Every problem that shows without the registry.
    static func read(_ path: String) throws(ConfigurationError) -> RegistryFile {
        do throws(ConfigurationProblem) {
            return try read(yaml: try text(of: path), path: path)
        } catch {
            throw ConfigurationError(file: path, problems: [error])
        }
    }

    /// - Parameter path: For messages only.
    static func read(yaml: String, path: String) throws(ConfigurationProblem) -> RegistryFile {
        let document = try ConfigurationProblem.reading(yaml)
        let problems = Problems(of: "a registry file")
        let root = Section(path: "", place: .file, variables: nil, problems: problems)
        root.fill(from: document)
        let file = RegistryFile(reading: root, path: path)
        root.end()
        return file
    }

    private init(reading root: Section, path: String) {
        self.path = path
        problems = root.problems
        name =
            root.required(
                "name", .text("an identifier of printable ASCII"), example: "mobile-apps",
                help: "The name under which the registry remembers what this file manages. Keep it."
            ) { try Self.identifier($0) as GroupID }?.string ?? ""
        clients = root.sections("clients", isRequired: false, help: "The client applications.") {
            DeclaredClient(reading: $0)
        }.compactMap(\.self)
        groups = root.sections(
            "groups", isRequired: false, help: "The sharing groups: which apps may share logins.", Self.group
        ).compactMap(\.self)
        scopes = root.sections(
            "scopes", isRequired: false, help: "The scopes that need special handling, such as consent.", Self.scope
        ).compactMap(\.self)
        refuse(clients.map { ($0.id.string, $0.place) }) { "describes the client a second time, after \($0)" }
        refuse(groups.map { ($0.id.string, $0.place) }) { "describes the group a second time, after \($0)" }
        refuse(scopes.map { ($0.name, $0.place) }) { "describes the scope a second time, after \($0)" }
        // A client is in one group of an issuer at most.
        let members = groups.flatMap { group in group.members.map { ("\($0.client) \(group.issuer)", $0.place) } }
        refuse(members) { "is a member of a group of this issuer already, after \($0); a client is in one of them" }
    }

    /// Throws every problem, if there is one.
    func check() throws(ConfigurationError) {
        guard problems.errors.isEmpty else { throw ConfigurationError(file: path, problems: problems.errors.sorted()) }
    }

    // MARK: Parts

    private static func group(_ section: Section) -> DeclaredGroup? {
        let id: GroupID? = section.required(
            "group_id", .text("an identifier of printable ASCII"), example: "vendor", help: "The name of the group.",
            identifier)
        let issuer: Issuer? = section.required(
            "issuer", .url, example: "https://idp.example.com",
            help: "The identity provider whose logins are shared. It is permanent.", identifier)
        let members = section.sections("members", isRequired: false, help: "The members of the group.", member)
            .compactMap(\.self)
        guard let id, let issuer else { return nil }
        return DeclaredGroup(id: id, issuer: issuer, place: section.place(of: "group_id"), members: members)
    }

    private static func member(_ section: Section) -> DeclaredMember? {
        let client: ClientID? = section.required(
            "client_id", .text("an identifier of printable ASCII"), example: "app1", help: "The client.", identifier)
        let role = section.required(
            "role", .choice(Membership.Role.allCases.map(\.rawValue)), example: "both",
            help: "`source`: other apps may use its logins. `target`: it may use theirs.",
            Membership.Role.parse(_:))
        let ceiling = section.valuesOrNone(
            "scope_ceiling", .text("a scope"),
            help: "The largest scope of an exchange. `none`: the allowed scope of the client applies.", scopeToken)
        let handoff = section.valueOrNone(
            "handoff", .choice(Membership.Handoff.allCases.map(\.rawValue)),
            help:
                "Whether it may hand a login to the web apps of the group. `bearer`: unless it shows a DPoP key. `dpop`: also then.",
            Membership.Handoff.parse(_:))
        let origins = section.valuesOrNone(
            "handoff_origins", .text("a web origin"), help: "The web origins at which it receives logins by hand-off.",
            webOrigin)
        guard let client, let role else { return nil }
        let settings = SharingGroup.MemberChange(
            ceiling: ceiling.map { .init($0.map { Scope($0) }) } ?? .keep,
            handoff: handoff.map { .init($0) } ?? .keep, handoffOrigins: origins.map { .init($0) } ?? .keep)
        return DeclaredMember(client: client, role: role, settings: settings, place: section.place(of: "client_id"))
    }

    private static func scope(_ section: Section) -> DeclaredScope? {
        let name = section.required(
            "scope", .text("a scope"), example: "payments", help: "The scope.", scopeToken)
        let consent = section.optionalFlag(
            "requires_consent",
            help: "Whether only a login in the browser grants it, never an exchange. A new scope: `false`.")
        return name.map { DeclaredScope(name: $0, requiresConsent: consent, place: section.place(of: "scope")) }
    }

    static func identifier<ID: ProtocolIdentifier>(_ text: String) throws(ValueDefect) -> ID {
        guard let id = ID(text) else {
            throw ValueDefect("write at most \(ID.maximumLength) printable ASCII characters")
        }
        return id
    }

    private static func webOrigin(_ text: String) throws(ValueDefect) -> WebOrigin {
        guard let origin = WebOrigin(text) else {
            throw ValueDefect("write an https origin in lower case without a path, such as https://web.example.com")
        }
        return origin
    }

    /// RFC 6749 §3.3.
    static func scopeToken(_ text: String) throws(ValueDefect) -> String {
        guard let scope = Scope(argument: text), scope.tokens.count == 1 else {
            throw ValueDefect("write one scope, without spaces, quotes and backslashes")
        }
        return text
    }

    // MARK: Rules

    private func refuse(_ items: [(id: String, place: Place)], _ message: (String) -> String) {
        var first: [String: Place] = [:]
        for (id, place) in items {
            if let earlier = first[id] {
                guard case .line(let line) = earlier.origin else { continue }
                problems.report(place, message("line \(line)") + "; remove one of them")
            } else {
                first[id] = place
            }
        }
    }

    private static func text(of path: String) throws(ConfigurationProblem) -> String {
        let octets: [UInt8]
        do throws(ValueDefect) {
            // It decides which apps share logins.
            octets = try RegularFile.trusted(path, limit: limit)
        } catch {
            throw ConfigurationProblem(place: .file, message: error.message)
        }
        if let text = String(validating: octets, as: UTF8.self) { return text }
        let lines = octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let wrong = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
        throw ConfigurationProblem(
            place: Place(origin: .line(wrong + 1), key: ""), message: "is not UTF-8; save the file as UTF-8")
    }
}
