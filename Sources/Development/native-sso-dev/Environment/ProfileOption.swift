import ArgumentParser

/// A profile of Native SSO, as the broker's configuration names it.
enum ProfileOption: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// The 2018 profile.
    case deviceID = "device-id"
    /// The current one, and with it the older token type.
    case deviceSecret = "device-secret"
}
