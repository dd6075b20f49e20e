import StrictCoding

/// Collects the problems during reading, so that the operator sees all of them at once.
final class Problems {
    /// All keys, in the order of reading.
    var keys: [KeyDescription] = []
    private(set) var errors: [ConfigurationProblem] = []
    private(set) var warnings: [ConfigurationProblem] = []
    var isDevelopment = false
    /// Whether the files that the configuration names are opened and checked.
    let opensFiles: Bool
    /// Every key that has a value, in the order of reading; `nil`: they are not collected.
    var settings: [Setting]?
    /// See ``ServiceCredential``.
    let credentials: String?
    /// What the file is, such as `the configuration`.
    let subject: String

    init(credentials: String? = nil, opensFiles: Bool = true, of subject: String = "the configuration") {
        self.credentials = credentials
        self.opensFiles = opensFiles
        self.subject = subject
    }

    func report(_ place: Place, _ message: String) {
        errors.append(ConfigurationProblem(place: place, message: message))
    }

    func warn(_ place: Place, _ message: String) {
        warnings.append(ConfigurationProblem(place: place, message: message))
    }

    /// Forgets the settings of a section, or of a key, that has defaults only.
    func forgetDefaults(of path: String) {
        func isInside(_ setting: Setting) -> Bool { setting.key == path || setting.key.hasPrefix(path + ".") }
        guard let settings, settings.filter(isInside).allSatisfy({ $0.origin == nil }) else { return }
        self.settings = settings.filter { !isInside($0) }
    }
}

/// A key and the value that takes effect, as text. Secrets are files, so it is never one.
struct Setting: Sendable {
    /// Its path, such as `tokens.access`.
    let key: String
    /// A text or a list.
    let value: Cell
    /// `nil`: the default.
    let origin: Place.Origin?
}
