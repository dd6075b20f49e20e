import Glibc
import NativeSSO
import RegularFiles
import YAML

/// Reads the configuration from one file. Variables override single keys. Reports all problems at once.
enum ConfigurationReader {
    /// With its warnings, in the order of the file.
    typealias Result = (configuration: Configuration, warnings: [ConfigurationProblem])

    /// The longest file accepted, in octets.
    static let limit = 1 << 20

    static func read(file: String, environment: [String: String]) throws(ConfigurationError) -> Result {
        try read(yaml: try yaml(of: file), file: file, environment: environment)
    }

    /// Reads what `part` takes of the file, and nothing else of it. Without a file at the default place, the variables
    /// are enough.
    static func read<Part>(
        file: String, environment: [String: String], openingFiles: Bool, _ part: (Section) -> Part?
    ) throws(ConfigurationError) -> (Part, warnings: [ConfigurationProblem]) {
        let isMissing = access(file, F_OK) != 0 && errno == ENOENT
        let mayBeMissing =
            file == GlobalOptions.standardFile && environment.keys.contains { $0.hasPrefix(Variables.prefix) }
        let yaml = isMissing && mayBeMissing ? "{}" : try yaml(of: file)
        let problems = Problems(credentials: environment[ServiceCredential.variable], opensFiles: openingFiles)
        return try read(yaml: yaml, file: file, environment: environment, isWhole: false, problems, part)
    }

    /// Every key with its value, without opening the files that they name.
    static func settings(
        file: String, environment: [String: String]
    ) throws(ConfigurationError) -> (settings: [Setting], warnings: [ConfigurationProblem]) {
        let problems = Problems(opensFiles: false)
        problems.settings = []
        let (_, warnings) = try read(
            yaml: try yaml(of: file), file: file, environment: environment, problems, Configuration.init(reading:))
        return (problems.settings ?? [], warnings)
    }

    private static func yaml(of file: String) throws(ConfigurationError) -> String {
        do throws(ValueDefect) {
            // The file names the trusted issuers.
            let octets = try RegularFile.trusted(file, limit: limit)
            guard let text = String(validating: octets, as: UTF8.self) else { throw ValueDefect("is not UTF-8") }
            return text
        } catch {
            let advice =
                access(file, R_OK) == 0
                ? ""
                : "; write the configuration there, readable by the user of this process, or name another file with "
                    + "--config"
            let problem = ConfigurationProblem(place: .file, message: error.message + advice)
            throw ConfigurationError(file: file, problems: [problem])
        }
    }

    /// - Parameter file: For messages only.
    static func read(
        yaml: String, file: String, environment: [String: String]
    ) throws(ConfigurationError) -> Result {
        let problems = Problems(credentials: environment[ServiceCredential.variable])
        return try read(yaml: yaml, file: file, environment: environment, problems, Configuration.init(reading:))
    }

    /// The configuration of the signer.
    static func readSigner(
        file: String, environment: [String: String]
    ) throws(ConfigurationError) -> (SignerConfiguration, warnings: [ConfigurationProblem]) {
        let yaml = try yaml(of: file)
        let problems = Problems(credentials: environment[ServiceCredential.variable])
        return try read(
            yaml: yaml, file: file, environment: environment, problems, SignerConfiguration.init(reading:))
    }

    /// - Parameter isWhole: Whether `make` reads every key that has a meaning.
    private static func read<Value>(
        yaml: String, file: String, environment: [String: String], isWhole: Bool = true, _ problems: Problems,
        _ make: (Section) -> Value?
    ) throws(ConfigurationError) -> (Value, warnings: [ConfigurationProblem]) {
        let document: ConfigurationDocument
        do throws(ConfigurationProblem) {
            document = try ConfigurationProblem.reading(yaml)
        } catch {
            throw ConfigurationError(file: file, problems: [error])
        }
        let variables = Variables(environment)
        let root = Section(path: "", place: .file, variables: variables, problems: problems)
        root.fill(from: document)
        root.readDevelopment()
        let configuration = make(root)
        let others = isWhole ? [] : KeyDescription.all
        root.end(besides: Set(others.filter(\.section.isEmpty).map(\.path)))
        variables.reportUnknown(to: problems, besides: others.filter(\.hasVariable).map { Variables.name(of: $0.path) })
        guard let configuration, problems.errors.isEmpty else {
            throw ConfigurationError(file: file, problems: problems.errors.sorted())
        }
        return (configuration, problems.warnings.sorted())
    }
}

/// One error or warning about the configuration.
struct ConfigurationProblem: Error, Sendable, Hashable {
    let place: Place
    /// The end of a sentence that begins with the key.
    let message: String
}

/// The place of a value, or of a missing value.
struct Place: Sendable, Hashable {
    enum Origin: Sendable, Hashable {
        /// The file as a whole.
        case file
        /// From 1.
        case line(Int)
        /// An environment variable, by its full name.
        case variable(String)
    }

    let origin: Origin
    /// Its path, such as `tokens.access` or `identity_providers[0].issuer`; empty for the file itself.
    let key: String

    static let file = Place(origin: .file, key: "")
}

/// All errors of the configuration, in the order of the file.
struct ConfigurationError: Error, Sendable {
    let file: String
    /// Never empty.
    let problems: [ConfigurationProblem]
}

extension ConfigurationProblem: Comparable {
    /// The file as a whole, then by line, then by variable.
    static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

    private var rank: (Int, String, String, String) {
        switch place.origin {
        case .file: (0, "", place.key, message)
        case .line(let line): (line, "", place.key, message)
        case .variable(let name): (.max, name, place.key, message)
        }
    }
}

extension ConfigurationProblem {
    static func reading(_ yaml: String) throws(ConfigurationProblem) -> ConfigurationDocument {
        do throws(YAMLProblem) {
            return try ConfigurationDocument(yaml: yaml)
        } catch {
            let place = error.line.map { Place(origin: .line($0), key: "") } ?? .file
            throw ConfigurationProblem(place: place, message: error.message)
        }
    }
}
