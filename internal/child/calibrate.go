package child

import (
	"path/filepath"
)

// CalibrateVariable is the environment variable that names the folder of a calibration to
// the companion.
const CalibrateVariable = "ULLAGE_CALIBRATE"

// CalibrateConfig is what the companion has to know to measure a card:
// docs/formats/profile.md.
type CalibrateConfig struct {
	Index        int     `json:"index"`        // of the GPU, among those that the process may see
	Seconds      float64 `json:"seconds"`      // that it may take in all
	Convolutions any     `json:"convolutions"` // to measure, the most wanted first
}

// CalibrateSession is the folder of a calibration.
type CalibrateSession struct{ TraceSession }

// OpenCalibrate makes the folder in the first of bases that will do. Close removes it.
func OpenCalibrate(bases []string, cfg CalibrateConfig) (*CalibrateSession, error) {
	s, err := openFolder(bases, cfg)
	if err != nil {
		return nil, err
	}
	return &CalibrateSession{*s}, nil
}

// changesMemory are variables that would have the card measured as a program of other
// settings finds it.
var changesMemory = []string{
	"CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING", "TORCH_CUDNN_V8_API_DISABLED", "CUDNN_CONV_WSCAP_DBG", "NVIDIA_TF32_OVERRIDE", TraceVariable, Variable,
}

// Environ returns environ with what makes Python find the companion and measure, and without
// what would change the measurements.
func (s *CalibrateSession) Environ(environ []string) []string {
	return WithEnv(FindFirst(Without(environ, changesMemory...), s.site()), CalibrateVariable+"="+s.dir)
}

// Arguments are what Python is given.
func (s *CalibrateSession) Arguments() []string { return []string{"-m", "ullage._calibrate"} }

// Measurements is the file that the companion writes.
func (s *CalibrateSession) Measurements() string { return filepath.Join(s.dir, "measured.jsonl") }
