import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct DeviceCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Show, block and unblock devices, by device digest.",
        subcommands: [
            DeviceShowCommand.self, DeviceBlockCommand.self, DeviceUnblockCommand.self, DeviceUnpinCommand.self,
        ])
}

struct DeviceOptions: ParsableArguments {
    @Argument(help: "The device digest: 64 hexadecimal digits, as `session show` shows it.")
    var digest: DeviceDigest
    @OptionGroup var provider: IssuerOption

    func find(_ options: GlobalOptions) async throws -> DeviceRecord {
        let issuer = try provider.issuer(options)
        return try await options.administer { try await $0.device(digest, at: issuer) }
    }
}

struct DeviceShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one device.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let device = try await which.find(options)
        let record: Record = [
            "issuer": .text(device.issuer.string), "device": .text(Hexadecimal.encode(device.digest.octets)),
            "first_seen_at": .instant(device.firstSeenAt), "blocked_at": Cell(device.blockedAt),
            "live_sessions": .number(device.liveSessions),
            "pinned_clients": .list(device.pins.map(\.client.string)),
        ]
        try options.output.show(record)
    }
}

struct DeviceBlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "Refuse a device in every session until you unblock it.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let device = try await which.find(options)
        guard device.blockedAt == nil else { throw CommandFailure.refused("the device is blocked already") }
        let plan = Plan(
            "block \(device.name)",
            consequences: [
                "every app on it is refused until it is unblocked",
                device.liveSessions == 0
                    ? "no live session began on it"
                    : "\(device.liveSessions.counted("live session")) began on it: no new login is needed afterwards",
            ])
        try await execution.carryOut(plan, options) { try await $0.block(device.digest, at: device.issuer, $1) }
    }
}

struct DeviceUnblockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unblock", abstract: "Unblock a device.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let device = try await which.find(options)
        guard device.blockedAt != nil else { throw CommandFailure.refused("the device is not blocked") }
        try await execution.carryOut(Plan("unblock \(device.name)"), options) {
            try await $0.unblock(device.digest, at: device.issuer, $1)
        }
    }
}

struct DeviceUnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Delete the DPoP key bindings of a device.",
        discussion: """
            The broker binds the next key that each app presents on the device. First make sure that the device is in the \
            right hands.
            """)

    @OptionGroup var which: DeviceOptions

    @Option(help: "Only the key of this client.")
    var client: ClientID?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let device = try await which.find(options)
        let pins = device.pins.filter { client == nil || $0.client == client }
        guard !pins.isEmpty else { throw CommandFailure.refused("no key is pinned") }
        let plan = Plan(
            "unpin \(device.name)",
            consequences: pins.map { "\($0.client) may show another key than \($0.key)" } + [
                "refresh tokens stay bound to the keys that they have, until their apps exchange again"
            ])
        try await execution.carryOut(plan, options) {
            try await $0.unpin(device.digest, at: device.issuer, client: client, $1)
        }
    }
}

extension DeviceRecord {
    fileprivate var name: String { "the device \(Hexadecimal.encode(digest.octets)) of \(issuer)" }
}
