import ArgumentParser
import NativeSSO
import Registry

/// `native-sso client add`
struct ClientAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register a client.",
        discussion: """
            How it proves who it is stays as it is: to change that, remove the client and add it again. One of \
            client_secret_basic gets its secret by client secret rotate, one of private_key_jwt its keys by client key add; \
            before that nobody can use it.
            """)

    @Argument(help: "Its client_id.") var id: ClientID
    @Option(help: "none for an app on a device, which can keep no secret; client_secret_basic; private_key_jwt.")
    var authentication = Client.Authentication.none
    @OptionGroup var settings: ClientSettings
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard !settings.audience.isEmpty else {
            throw ValidationError("--audience names at least one resource server.")
        }
    }

    func run() async throws {
        let client = settings.client(id, authentication)
        try await options.administer { registry throws(AdministrationError) in
            try await registry.add(client, options.act(reason: why.reason))
        }
        try options.output.show(Record(client))
        options.output.warn(client.stepUpWarning([]))
    }
}

/// `native-sso client update`
struct ClientUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change what is given; leave the rest.")

    @Argument(help: "Its client_id.") var id: ClientID
    @OptionGroup var settings: ClientSettings
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let changed = try await ClientChange(id, options, why).apply { settings.changing($0) }
        guard changed.asksForStepUp else { return }
        let groups = try await options.administer { registry throws(AdministrationError) in
            try await registry.groups()
        }
        options.output.warn(changed.stepUpWarning(groups))
    }
}

/// `native-sso client enable`
struct ClientEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Let a client in again.")

    @Argument(help: "Its client_id.") var id: ClientID
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await ClientChange(id, options, why).apply { $0.enabled(true) }
    }
}

/// `native-sso client disable`
struct ClientDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Refuse everything a client asks, until it is enabled again.")

    @Argument(help: "Its client_id.") var id: ClientID
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await ClientChange(id, options, why).apply { $0.enabled(false) }
    }
}

/// A change to a client that exists.
private struct ClientChange {
    private let id: ClientID
    private let options: GlobalOptions
    private let why: ReasonOption

    init(_ id: ClientID, _ options: GlobalOptions, _ why: ReasonOption) {
        self.id = id
        self.options = options
        self.why = why
    }

    @discardableResult
    func apply(_ change: (Client) -> Client) async throws(CommandFailure) -> Client {
        let changed = try await options.administer { registry throws(AdministrationError) in
            guard let client = try await registry.client(id) else { throw .notFound("client \(id)") }
            let changed = change(client)
            guard changed.defaultScope.isSubset(of: changed.allowedScope) else {
                throw .refused("the default scope must lie within the allowed scope")
            }
            try await registry.update(changed, options.act(reason: why.reason))
            return changed
        }
        try options.output.show(Record(changed))
        return changed
    }
}
