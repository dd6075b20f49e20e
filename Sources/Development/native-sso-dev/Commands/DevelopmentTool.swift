import ArgumentParser

@main
struct DevelopmentTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "native-sso-dev",
        abstract: "Everything around the broker on one machine. For development only.",
        discussion: """
            Starts a private PostgreSQL, a development identity provider, the broker and two resource servers. All of it \
            ends with this program, however that ends.
            """,
        subcommands: [UpCommand.self, DemoCommand.self, IdentityProviderCommand.self, ServerCommand.self])
}
