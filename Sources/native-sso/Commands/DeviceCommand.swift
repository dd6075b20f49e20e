import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

/// `native-sso device`
struct DeviceCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Devices, by the digest that stands for their value.",
        subcommands: [DeviceShowCommand.self, DeviceBlockCommand.self, DeviceUnblockCommand.self])
}

/// Which device a command is about.
struct DeviceOptions: ParsableArguments {
    @Argument(help: "The device's digest, 64 hexadecimal digits, as `session show` has it.")
    var digest: DeviceDigest

    @Option(help: "The identity provider; may be left out where the configuration has only one.")
    var issuer: Issuer?
}

/// `native-sso device show`
struct DeviceShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "One device.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try options.configuration().issuer(which.issuer)
        let device = try await options.administer { registry throws(AdministrationError) in
            try await registry.device(which.digest, at: issuer)
        }
        try options.output.show(
            Record([
                ("issuer", .text(device.issuer.string)), ("device", .text(Hexadecimal.encode(device.digest.octets))),
                ("first_seen_at", .instant(device.firstSeenAt)), ("blocked_at", Cell(device.blockedAt)),
                ("live_sessions", .number(device.liveSessions)),
            ]))
    }
}

/// `native-sso device block`
struct DeviceBlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "Refuse a device, whatever login it comes with, until it is unblocked.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try options.configuration().issuer(which.issuer)
        let device = try await options.administer { registry throws(AdministrationError) in
            try await registry.device(which.digest, at: issuer)
        }
        guard device.blockedAt == nil else { throw CommandFailure.refused("the device is blocked already") }
        let plan = Plan(
            "block the device \(Hexadecimal.encode(which.digest.octets)) of \(issuer)",
            consequences: [
                "\(device.liveSessions) live sessions began on it; they stay, and go on when it is unblocked"
            ])
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.block(which.digest, at: issuer, act)
            }
        }
    }
}

/// `native-sso device unblock`
struct DeviceUnblockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unblock", abstract: "Let a device that was blocked in again.")

    @OptionGroup var which: DeviceOptions
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try options.configuration().issuer(which.issuer)
        let device = try await options.administer { registry throws(AdministrationError) in
            try await registry.device(which.digest, at: issuer)
        }
        guard device.blockedAt != nil else { throw CommandFailure.refused("the device is not blocked") }
        let plan = Plan("unblock the device \(Hexadecimal.encode(which.digest.octets)) of \(issuer)")
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.unblock(which.digest, at: issuer, act)
            }
        }
    }
}
