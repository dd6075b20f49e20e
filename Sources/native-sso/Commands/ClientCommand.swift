import ArgumentParser
import NativeSSO

/// `native-sso client`
struct ClientCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "client", abstract: "The apps that may exchange and refresh.",
        subcommands: [
            ClientAddCommand.self, ClientListCommand.self, ClientShowCommand.self, ClientUpdateCommand.self,
            ClientEnableCommand.self, ClientDisableCommand.self, ClientRemoveCommand.self, ClientSecretCommand.self,
            ClientKeyCommand.self,
        ])
}
