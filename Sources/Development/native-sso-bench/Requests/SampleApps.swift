/// The apps that share logins in a benchmark: `app-00` and so on.
///
/// Their names are equally long, so that only a few octets of a request differ from one app to the next.
enum SampleApps {
    /// The issuer of the broker.
    static let broker = "https://sso.example.test"
    /// What proofs are made for.
    static let tokenEndpoint = "\(broker)/token"
    /// Of the identity provider, whose key set the broker has as a file.
    static let issuer = "https://idp.example.test"
    static let audience = "https://api.example.test"
    static let scope = "openid profile orders.read"
    static let group = "vendor"

    /// The app that everybody logged in with.
    static let source = "app-source"
    /// The apps that use those logins.
    static let targets = (0..<24).map { "app-" + ($0 < 10 ? "0\($0)" : String($0)) }
    /// The one that has to show a key.
    static let proving = "app-dp"
}
