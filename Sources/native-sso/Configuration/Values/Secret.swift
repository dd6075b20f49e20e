/// A secret of the configuration. It prints as `****`.
struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// For the one place that hands it to the other side.
    let exposed: String

    init(_ text: String) { exposed = text }

    var description: String { "****" }
    var debugDescription: String { "****" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
