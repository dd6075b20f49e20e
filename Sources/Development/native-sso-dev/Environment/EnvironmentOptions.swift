import ArgumentParser

/// What `up` and `demo` can be told about the environment.
struct EnvironmentOptions: ParsableArguments {
    @Option(help: "Where everything lies: an empty directory, or one that does not exist. Default: a temporary one.")
    var directory: String?

    @Option(
        help: """
            The first of seven ports in a row; 0 for free ones. Default: 9000 for the identity provider, 8080 and 8081 for \
            the broker, 9001 and 9002 for the servers, 9003 for an identity provider without Native SSO, 9004 for the page.
            """)
    var portBase: Int?

    @Flag(help: "Leave the directory where it is at the end.")
    var keep = false

    @Option(help: "A profile that the broker accepts; may be repeated. Default: all.")
    var profile: [ProfileOption] = []

    @Option(
        help: "Seconds that the broker's access tokens last. Default: 300; 30 in a demonstration.")
    var accessTokenLifetime: Int?

    mutating func validate() throws {
        if let portBase, portBase != 0, !(1024...65_529).contains(portBase) {
            throw ValidationError("--port-base is 0 or between 1024 and 65529")
        }
        // The bounds of the broker's own setting.
        guard (10...86_400).contains(accessTokenLifetime ?? 300) else {
            throw ValidationError("--access-token-lifetime is between 10 and 86400")
        }
    }

    var profiles: [ProfileOption] { profile.isEmpty ? ProfileOption.allCases : profile }
}
