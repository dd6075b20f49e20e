/// What an enrolment gives to the app. RFC 8693 §2.2.1, Native SSO §3.3. Prints as `****`.
public struct EnrolmentAnswer: Sendable, CustomStringConvertible, CustomReflectable {
    /// Of this broker: what sibling apps present.
    public let idToken: String
    public let expiresIn: Seconds
    /// What was asked for; `nil` where nothing was.
    public let scope: Scope?
    /// In the current profile, and shown this once.
    public let deviceSecret: String?

    public var description: String { "EnrolmentAnswer(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
